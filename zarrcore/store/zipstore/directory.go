package zipstore

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Signatures and lengths in bytes of the records of a zip file.
const (
	localSig, localLen     = 0x04034b50, 30 // section 4.3.7
	centralSig, centralLen = 0x02014b50, 46 // section 4.3.12
	end64Sig, end64Len     = 0x06064b50, 56 // section 4.3.14
	locatorSig, locatorLen = 0x07064b50, 20 // section 4.3.15
	endSig, endLen         = 0x06054b50, 22 // section 4.3.16

	maxComment = 1<<16 - 1
)

// Numbers of 16 and 32 bits that stand in an extra field or record of ZIP64.
const (
	in64of16 = 1<<16 - 1
	in64of32 = 1<<32 - 1
)

// Compression methods (section 4.4.5).
const (
	stored   = 0
	deflated = 8
	// symlink is not of the specification: the member is a symbolic link. A member that is
	// compressed by a method of that number cannot be read either.
	symlink = 1<<16 - 1
)

// methods are the names of compression methods that zarrfs does not read.
var methods = map[uint16]string{
	1: "shrinking", 6: "imploding", 9: "Deflate64", 12: "bzip2", 14: "LZMA", 20: "Zstandard",
	93: "Zstandard", 95: "XZ", 98: "PPMd",
}

// readable returns why a member cannot be read, or nil.
func (m *member) readable() error {
	switch name, known := methods[m.method]; {
	case m.method == stored && m.size != m.packed:
		return invalid("a stored member of %d bytes takes %d", m.size, m.packed)
	case m.method == deflated && !m.isPlausible():
		return invalid("a member of %d bytes cannot be deflated to %d", m.size, m.packed)
	case m.method == stored, m.method == deflated:
		return nil
	case m.method == symlink:
		return invalid("the member is a symbolic link; pack its target, as zip does without -y")
	default:
		if !known {
			name = fmt.Sprint("method ", m.method)
		}
		return invalid("the member is compressed by %s; zarrfs reads what is stored or deflated. "+
			"Pack it again, best with zip -0", name)
	}
}

// invalid is an error that says why a zip file cannot be read.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// isPlausible reports whether DEFLATE can have made the member as long as it is: at most 1,032
// bytes for one, and at least what stored blocks take.
func (m *member) isPlausible() bool {
	const most, least = 1032, 1000
	return m.size/most <= m.packed && m.packed <= m.size+m.size/least+64
}

// end is what the end of a zip file says of its directory.
type end struct {
	disk, dirDisk   uint32
	count, dirSize  uint64
	dirOffset       uint64
	start           int64 // where the record, or that of ZIP64, begins: the directory ends there
	countIsModulo16 bool  // no ZIP64: writers that know nothing of it count beyond 65,535
}

// readDirectory reads the directory of a zip file of size bytes.
func readDirectory(file io.ReaderAt, size int64) (directory, error) {
	e, err := readEnd(file, size)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return directory{}, err
	}
	members, err := e.readMembers(io.NewSectionReader(file, e.begin(), int64(e.dirSize)))
	if err != nil {
		return directory{}, err
	}
	return newDirectory(members), nil
}

// begin returns where the directory begins.
func (e *end) begin() int64 { return e.start - int64(e.dirSize) }

// shift returns how many bytes stand before the zip file proper: a program that unpacks it.
func (e *end) shift() int64 { return e.begin() - int64(e.dirOffset) }

// check returns why there cannot be such a directory.
func (e *end) check() error {
	switch {
	case e.disk != 0 || e.dirDisk != 0:
		return invalid("it is one of %d parts; join them: zip -s 0 PART.zip --out WHOLE.zip",
			max(e.disk, e.dirDisk)+1)
	case e.dirSize > uint64(e.start) || e.dirOffset > uint64(e.start)-e.dirSize:
		return invalid("its directory of %d bytes is expected at byte %d, but ends at byte %d: "+
			"something is cut out of the file", e.dirSize, e.dirOffset, e.start)
	case e.count > e.dirSize/centralLen:
		return invalid("%d members do not fit into a directory of %d bytes", e.count, e.dirSize)
	}
	return nil
}

// readMembers reads the members that can be objects or folders of the store.
func (e *end) readMembers(dir io.Reader) ([]member, error) {
	r := bufio.NewReaderSize(dir, 1<<20)
	members, count := make([]member, 0, min(e.count, 1<<16)), uint64(0)
	for left := int64(e.dirSize); left > 0; count++ {
		m, length, err := readRecord(r)
		if err != nil {
			return nil, invalid("member %d of its directory: %w", count, err)
		}
		left -= length
		m.header += e.shift()
		if !m.liesBefore(e.begin()) {
			return nil, invalid("member %q of %d bytes at %d lies beyond the directory at %d",
				m.name, m.packed, m.header, e.begin())
		}
		if isShown(m.name) {
			members = append(members, m)
		}
	}
	expected := e.count
	if e.countIsModulo16 {
		expected, count = expected&in64of16, count&in64of16
	}
	if expected != count {
		return nil, invalid("%d members are expected in its directory, found %d", expected, count)
	}
	return members, nil
}

// liesBefore reports whether the member can end before the directory. It does not know how long the
// name and the extra field of its local header are.
func (m *member) liesBefore(dir int64) bool {
	return m.header >= 0 && m.size >= 0 && m.packed >= 0 &&
		m.packed <= dir-localLen && m.header <= dir-localLen-m.packed
}

// isShown reports whether a member can be an object or a folder of the store.
func isShown(name string) bool {
	return !strings.HasPrefix(name, "__MACOSX/") && store.IsValidKey(strings.TrimSuffix(name, "/"))
}

// readEnd finds the end of central directory record, and that of ZIP64.
func readEnd(file io.ReaderAt, size int64) (end, error) {
	tail := make([]byte, min(size, locatorLen+end64Len+endLen+maxComment))
	from := size - int64(len(tail))
	if n, err := file.ReadAt(tail, from); n < len(tail) {
		return end{}, invalid("its end cannot be read: %w", err)
	}
	at := findEnd(tail)
	if at < 0 {
		return end{}, invalid("its directory, which is at the end, is missing: " +
			"the file is not complete, or one of several parts, or not a zip file")
	}
	b, le := tail[at:], binary.LittleEndian
	e := end{
		disk: uint32(le.Uint16(b[4:])), dirDisk: uint32(le.Uint16(b[6:])),
		count:   uint64(le.Uint16(b[10:])),
		dirSize: uint64(le.Uint32(b[12:])), dirOffset: uint64(le.Uint32(b[16:])),
		start: from + int64(at), countIsModulo16: true,
	}
	if e.disk == in64of16 || e.count == in64of16 ||
		e.dirSize == in64of32 || e.dirOffset == in64of32 {
		return readEnd64(file, e, tail[:at])
	}
	return e, nil
}

// findEnd returns where in tail the record that ends with tail begins: a comment of its length
// follows. It is -1 if there is no such record.
func findEnd(tail []byte) int {
	for at := len(tail) - endLen; at >= 0; at-- {
		if binary.LittleEndian.Uint32(tail[at:]) == endSig &&
			at+endLen+int(binary.LittleEndian.Uint16(tail[at+20:])) == len(tail) {
			return at
		}
	}
	return -1
}

// readEnd64 reads the record of ZIP64 if one stands before e; before are the bytes before e.
func readEnd64(file io.ReaderAt, e end, before []byte) (end, error) {
	le := binary.LittleEndian
	if len(before) < locatorLen || le.Uint32(before[len(before)-locatorLen:]) != locatorSig {
		return e, nil // the numbers are what they are
	}
	locator := before[len(before)-locatorLen:]
	if parts := le.Uint32(locator[16:]); parts > 1 {
		e.disk = parts - 1
		return e, nil
	}
	// It stands right before its locator. A writer may have put bytes before the whole file, so
	// that the locator's offset is too small.
	at := e.start - locatorLen - end64Len
	record := make([]byte, end64Len)
	for _, at = range []int64{at, int64(le.Uint64(locator[8:]))} {
		if at < 0 {
			continue
		}
		if n, _ := file.ReadAt(record, at); n == end64Len && le.Uint32(record) == end64Sig {
			return end{
				disk: le.Uint32(record[16:]), dirDisk: le.Uint32(record[20:]),
				count:   le.Uint64(record[32:]),
				dirSize: le.Uint64(record[40:]), dirOffset: le.Uint64(record[48:]),
				start: at,
			}, nil
		}
	}
	return e, invalid("the end of its directory (ZIP64) is expected at byte %d", at)
}

// readRecord reads one central directory header, and says how many bytes it takes.
func readRecord(r *bufio.Reader) (member, int64, error) {
	var fixed [centralLen]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return member{}, 0, noEOF(err)
	}
	le := binary.LittleEndian
	if sig := le.Uint32(fixed[:]); sig != centralSig {
		return member{}, 0, fmt.Errorf("signature %08x is expected, found %08x", centralSig, sig)
	}
	nameLen, extraLen := int(le.Uint16(fixed[28:])), int(le.Uint16(fixed[30:]))
	rest := make([]byte, nameLen+extraLen+int(le.Uint16(fixed[32:]))) // with the comment
	if _, err := io.ReadFull(r, rest); err != nil {
		return member{}, 0, noEOF(err)
	}
	flags := le.Uint16(fixed[8:])
	const encrypted, unicode, masked = 1 << 0, 1 << 11, 1 << 13
	m := member{
		name:   nameOf(rest[:nameLen], flags&unicode != 0),
		method: le.Uint16(fixed[10:]), crc: le.Uint32(fixed[16:]),
		changed: dosTime(le.Uint16(fixed[14:]), le.Uint16(fixed[12:])),
		packed:  int64(le.Uint32(fixed[20:])), size: int64(le.Uint32(fixed[24:])),
		header: int64(le.Uint32(fixed[42:])),
	}
	if flags&(encrypted|masked) != 0 {
		return member{}, 0, fmt.Errorf("%q is encrypted; unpack it, and mount the folder", m.name)
	}
	const madeByUnix, typeMask, typeLink = 3, 0o170000, 0o120000
	if fixed[5] == madeByUnix && le.Uint32(fixed[38:])>>16&typeMask == typeLink {
		m.method = symlink
	}
	if err := m.addExtra(rest[nameLen : nameLen+extraLen]); err != nil {
		return member{}, 0, err
	}
	return m, int64(len(fixed) + len(rest)), nil
}

// addExtra completes a member by its extra fields (section 4.5).
func (m *member) addExtra(extra []byte) error {
	const zip64, timestamp, unicodePath = 0x0001, 0x5455, 0x7075
	le := binary.LittleEndian
	for len(extra) >= 4 {
		id, size := le.Uint16(extra), int(le.Uint16(extra[2:]))
		extra = extra[4:]
		if size > len(extra) {
			return nil // as other readers do, for writers that pad
		}
		field := extra[:size]
		extra = extra[size:]
		switch {
		case id == zip64:
			for _, n := range []*int64{&m.size, &m.packed, &m.header} {
				if *n != in64of32 {
					continue
				}
				if len(field) < 8 {
					return fmt.Errorf("%q: its ZIP64 field is too short", m.name)
				}
				*n, field = int64(le.Uint64(field)), field[8:]
			}
		case id == timestamp && size >= 5 && field[0]&1 != 0:
			m.changed = int64(int32(le.Uint32(field[1:])))
		case id == unicodePath && size > 5 && field[0] == 1:
			m.name = nameOf(field[5:], true)
		}
	}
	return nil
}

// nameOf returns a member's name, which is UTF-8 if a flag says so (section 4.4.4, bit 11).
// Otherwise it is code page 437, but Info-ZIP writes UTF-8 without the flag.
func nameOf(b []byte, unicode bool) string {
	name := string(b)
	if !unicode && !utf8.Valid(b) {
		var s strings.Builder
		for _, c := range b {
			if c < 0x80 {
				s.WriteByte(c)
			} else {
				s.WriteRune(codePage437[c-0x80])
			}
		}
		name = s.String()
	}
	for trimmed := ""; trimmed != name; { // as unzip does
		trimmed = name
		for _, up := range []string{"./", "../", "/"} {
			name = strings.TrimPrefix(name, up)
		}
	}
	return name
}

// codePage437 are the upper 128 characters of the code page that zip files began with (appendix D).
var codePage437 = []rune("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
	"└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0")

// dosTime returns a time of MS-DOS, which has no zone, as Unix seconds; 0 if there is none.
func dosTime(date, clock uint16) int64 {
	if date == 0 {
		return 0
	}
	return time.Date(int(date>>9)+1980, time.Month(date>>5&15), int(date&31),
		int(clock>>11), int(clock>>5&63), int(clock&31)*2, 0, time.Local).Unix()
}

// noEOF is err, where an end is not expected.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
