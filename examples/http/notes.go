package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/netco-go/netco/net/http"
)

// note is one note, as JSON has it.
type note struct {
	ID   int64     `json:"id"`
	Text string    `json:"text"`
	Made time.Time `json:"made"`
}

// notes are all notes, and those who look at them.
type notes struct {
	db   *sql.DB
	live live
}

func open(file string) (*notes, error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // SQLite has one writer; others wait for it here
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS notes " +
		"(id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, made INTEGER NOT NULL)")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &notes{db: db}, nil
}

// most is how many notes list returns.
const most = 100

// list is GET /notes: the newest notes, first the last one.
func (n *notes) list(w http.ResponseWriter, r *http.Request) {
	rows, err := n.db.QueryContext(r.Context(),
		"SELECT id, text, made FROM notes ORDER BY id DESC LIMIT ?", most)
	if err != nil {
		fail(w, r, err)
		return
	}
	defer rows.Close()
	all := []note{}
	for rows.Next() {
		var x note
		if err := scan(rows, &x); err != nil {
			fail(w, r, err)
			return
		}
		all = append(all, x)
	}
	if err := rows.Err(); err != nil {
		fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, all)
}

// add is POST /notes, with a note's text.
func (n *notes) add(w http.ResponseWriter, r *http.Request) {
	var x note
	var tooLong *http.MaxBytesError
	switch err := json.NewDecoder(r.Body).Decode(&x); {
	case errors.As(err, &tooLong):
		answer(w, http.StatusRequestEntityTooLarge, problem{"too long"})
		return
	case err != nil || strings.TrimSpace(x.Text) == "":
		answer(w, http.StatusBadRequest, problem{`a note is {"text": "..."}`})
		return
	}
	x.Made = time.Now().UTC().Truncate(time.Millisecond)
	result, err := n.db.ExecContext(r.Context(),
		"INSERT INTO notes (text, made) VALUES (?, ?)", x.Text, x.Made.UnixMilli())
	if err == nil {
		x.ID, err = result.LastInsertId()
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	n.live.publish(x)
	w.Header().Set("Location", "/notes/"+strconv.FormatInt(x.ID, 10))
	answer(w, http.StatusCreated, x)
}

// get is GET /notes/{id}.
func (n *notes) get(w http.ResponseWriter, r *http.Request) {
	var x note
	err := scan(n.db.QueryRowContext(r.Context(),
		"SELECT id, text, made FROM notes WHERE id = ?", r.PathValue("id")), &x)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		answer(w, http.StatusNotFound, problem{"there is no such note"})
	case err != nil:
		fail(w, r, err)
	default:
		answer(w, http.StatusOK, x)
	}
}

// remove is DELETE /notes/{id}.
func (n *notes) remove(w http.ResponseWriter, r *http.Request) {
	_, err := n.db.ExecContext(r.Context(), "DELETE FROM notes WHERE id = ?", r.PathValue("id"))
	if err != nil {
		fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// scan reads a note from a row.
func scan(row interface{ Scan(...any) error }, x *note) error {
	var made int64
	err := row.Scan(&x.ID, &x.Text, &made)
	x.Made = time.UnixMilli(made).UTC()
	return err
}

// problem is what the body of an answer says that is none.
type problem struct {
	Problem string `json:"problem"`
}

func answer(w http.ResponseWriter, status int, x any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(x)
}

// fail answers that the database has failed. A client that has gone is not the
// database's failure.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		slog.Error("database", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	answer(w, http.StatusInternalServerError, problem{"the database does not answer"})
}
