package load

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

func newReader() Reader {
	kernel := windows.NewLazySystemDLL("kernel32.dll")
	return &systemReader{
		systemTimes:  kernel.NewProc("GetSystemTimes"),
		memoryStatus: kernel.NewProc("GlobalMemoryStatusEx"),
	}
}

// systemReader asks the kernel.
type systemReader struct {
	systemTimes, memoryStatus *windows.LazyProc
	cpu                       cpu
}

// memoryStatusEx is MEMORYSTATUSEX of the Windows API.
type memoryStatusEx struct {
	length     uint32
	memoryLoad uint32 // percent of physical memory in use
	amounts    [7]uint64
}

func (r *systemReader) Read() (Sample, error) {
	var idle, kernel, user windows.Filetime // kernel time includes idle time
	if ok, _, err := r.systemTimes.Call(
		uintptr(unsafe.Pointer(&idle)), uintptr(unsafe.Pointer(&kernel)), uintptr(unsafe.Pointer(&user))); ok == 0 {
		return Sample{}, fmt.Errorf("read processor times: %w", err)
	}
	status := memoryStatusEx{length: uint32(unsafe.Sizeof(memoryStatusEx{}))}
	if ok, _, err := r.memoryStatus.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return Sample{}, fmt.Errorf("read memory status: %w", err)
	}
	return Sample{
		CPU:    r.cpu.percent(ticks(kernel)+ticks(user), ticks(idle)),
		Memory: float64(status.memoryLoad),
		IO:     Unknown,
	}, nil
}

func ticks(t windows.Filetime) uint64 { return uint64(t.HighDateTime)<<32 | uint64(t.LowDateTime) }

func bootTime() (time.Time, error) { return time.Now().Add(-windows.DurationSinceBoot()), nil }
