package stacks

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Thread is what the kernel reports of a thread of this process.
type Thread struct {
	State byte   // 'R': runs or could, 'S': sleeps, 'D': sleeps uninterruptibly; 0 if unknown
	In    string // the kernel's function in which it sleeps; "" if unknown or none
	Fault bool   // it sleeps, and not in a system call: a page is being fetched
}

// OfThread reads /proc. Fields that it cannot read are unknown.
func OfThread(tid int) (t Thread) {
	if tid == 0 {
		return t
	}
	dir := "/proc/self/task/" + strconv.Itoa(tid) + "/"
	stat, _ := os.ReadFile(dir + "stat")
	t.State = stateOf(stat)
	if t.State != 'S' && t.State != 'D' {
		return t
	}
	in, _ := os.ReadFile(dir + "wchan")
	if t.In = strings.TrimSpace(string(in)); t.In == "0" {
		t.In = ""
	}
	call, _ := os.ReadFile(dir + "syscall")
	t.Fault = bytes.HasPrefix(call, []byte("-1 "))
	return t
}

// stateOf reads the state from a stat file: it follows the name, which stands
// in parentheses and may contain parentheses.
func stateOf(stat []byte) byte {
	if i := bytes.LastIndexByte(stat, ')'); i >= 0 && i+2 < len(stat) {
		return stat[i+2]
	}
	return 0
}
