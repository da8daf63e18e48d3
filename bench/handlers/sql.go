package main

import (
	"database/sql"
	"database/sql/driver"
	"io"
	"time"
)

// openSlow opens a database whose every query takes 1 ms, in which its caller
// is blocked as in a read of package net.
func openSlow() *sql.DB {
	sql.Register("slow", slow{})
	db, err := sql.Open("slow", "")
	if err != nil {
		fail(err)
	}
	db.SetMaxIdleConns(1000)
	return db
}

// slow is the driver, its connection, statement and rows.
type slow struct{ done *bool }

func (slow) Open(string) (driver.Conn, error)           { return slow{new(bool)}, nil }
func (s slow) Prepare(string) (driver.Stmt, error)      { return s, nil }
func (slow) Begin() (driver.Tx, error)                  { return nil, driver.ErrSkip }
func (slow) NumInput() int                              { return 0 }
func (slow) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (slow) Columns() []string                          { return []string{"n"} }
func (slow) Close() error                               { return nil }

// Query implements driver.Stmt.
func (s slow) Query([]driver.Value) (driver.Rows, error) {
	time.Sleep(time.Millisecond)
	*s.done = false
	return s, nil
}

// Next implements driver.Rows.
func (s slow) Next(row []driver.Value) error {
	if *s.done {
		return io.EOF
	}
	*s.done = true
	row[0] = int64(1)
	return nil
}
