# Documented limits that are lifted, and the rest. The clauses are run by limits.sh.

check 'Bytes of a .npy in Fortran order are remapped if another program appends first' \
	'^equal' zarr-python <<'END'
zarrfs create s.zarr a --shape 6,5 --dtype u1 --chunks 4,4 \
	--codecs '[{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes"}]'
mkdir mnt; zarrfs mount s.zarr mnt
cat > appended.py <<'INNER'
import os, numpy, zarr
f = open("mnt/a.npy", "r+b", 0)
f.seek(128); f.write(bytes(range(1, 31)))               # not stored yet: a close or fsync stores
zarr.open_array("s.zarr/a", mode="r+").append(numpy.full((5, 5), 200, "u1"))
os.fsync(f.fileno())
want = numpy.concatenate([numpy.arange(1, 31).reshape(5, 6).T, numpy.full((5, 5), 200)])
assert (zarr.open_array("s.zarr/a")[:] == want).all()
assert (numpy.load("mnt/a.npy") == want).all()
print("equal")
INNER
$PYTHON appended.py
END

check 'A cut by one mount and an append by another: as if one came after the other, or refused' \
	'cut .*ABCDEF' <<'END'
zarrfs create s.zarr --group; mkdir one two; zarrfs mount s.zarr one; zarrfs mount s.zarr two
for i in $(seq 40); do
	zarrfs create s.zarr a$i --shape 10 --dtype u1 --chunks 4 --codecs none
	printf ABCDEFGHIJ | dd of=one/a$i.raw conv=notrunc status=none
	(truncate -s 6 one/a$i.raw 2> /dev/null && echo cut || echo refused) > cut &
	(printf klm | dd of=two/a$i.raw oflag=append conv=notrunc,fsync status=none 2> /dev/null &&
		echo appended || echo refused) > appended
	wait; sync one/a$i.raw || true
	echo "$(cat cut appended | xargs) $(zarrfs cat --view raw s.zarr a$i | tr '\0' .)" >> results
done
sort results | uniq -c
test -z "$(grep -v -x -e 'cut appended ABCDEF' -e 'cut appended ABCDEFklm' \
	-e 'cut appended ABCDEF[.]\{4\}klm' -e 'cut refused ABCDEF' \
	-e 'refused appended ABCDEFGHIJklm' -e 'refused refused ABCDEFGHIJ' results)"
END

check 'A killed resize of a bounded grid reads as the rows of before or after it' \
	'^012345678$
killed' strace <<'END'
document='{"zarr_format": 3, "node_type": "array", "shape": [9], "data_type": "uint8",
"fill_value": 0, "codecs": ["bytes"], "attributes": {},
"chunk_grid": {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [16]}},
"chunk_key_encoding": {"name": "default"}}'
mkdir mnt
for call in renameat unlinkat renameat:when=2; do for size in 7 11; do
	rm -rf s.zarr; mkdir -p s.zarr/a/c
	echo '{"zarr_format": 3, "node_type": "group"}' > s.zarr/zarr.json
	echo "$document" > s.zarr/a/zarr.json; printf 012345678 > s.zarr/a/c/0
	strace -f -qq -o trace -e trace=${call%:*} -e inject=$call:signal=KILL \
		zarrfs mount --foreground --log none s.zarr mnt & sleep 1
	truncate -s $size mnt/a.raw 2> /dev/null || true; sleep 0.5; sync mnt 2> /dev/null || true
	zarrfs umount --force mnt 2> /dev/null || true; wait 2> /dev/null
	grep -q 'killed by SIGKILL' trace && echo killed || echo ended by itself
	zarrfs mount s.zarr mnt; echo $(tr '\0' . < mnt/a.raw); zarrfs umount mnt
done; done | tee results
test -z "$(grep -v -x -E 'killed|ended by itself|0123456|012345678|012345678[.][.]' results)"
END

check 'Text files do not use up descriptors' '^300 texts, 128 bytes of the array
^text 123' <<'END'
zarrfs create s.zarr a --shape 4 --dtype u1; mkdir mnt
(ulimit -n 256; exec zarrfs mount --log none s.zarr mnt)
for i in $(seq 300); do echo text $i > mnt/$i.txt; done
echo $(ls mnt | grep -c txt) texts, $(head -c 128 mnt/a.npy | wc -c) bytes of the array
cat mnt/123.txt
END

check 'Neither do 240 .jsonl files that are open for writing' \
	'^240 are open, 132 bytes of the array' <<'END'
zarrfs create s.zarr a --shape 4 --dtype u1
for i in $(seq 240); do echo create s.zarr s$i --shape 2 --dtype string; done |
	xargs -L 1 zarrfs
mkdir mnt; (ulimit -n 256; exec zarrfs mount s.zarr mnt)
for i in $(seq 240); do exec {file}<> mnt/s$i.jsonl; echo '"text"' >&$file; done
echo 240 are open, $(wc -c < mnt/a.npy) bytes of the array
END

check 'A lock file goes with the next mount, also if a power cut has taken the note of it' \
	'^left: s.zarr/a/c/.*__lock
^left then: *$' strace <<'END'
zarrfs create s.zarr a --shape 4 --dtype u1 --codecs none; mkdir mnt; printf '1234' > 1234
strace -f -qq -o trace -e trace=renameat -e inject=renameat:signal=KILL \
	zarrfs mount --foreground --log none s.zarr mnt & sleep 1
dd if=1234 of=mnt/a.raw conv=notrunc status=none || true; zarrfs umount --force mnt || true
echo left: $(find s.zarr -name '*__lock')
for notes in s.zarr/.*/owner; do : > $notes; done
zarrfs mount s.zarr mnt; zarrfs umount mnt; echo left then: $(find s.zarr -name '*__lock')
END

check 'rm -r of a group with things that are not shown says which' \
	'^rm: cannot remove .mnt/g.: Directory not empty
in the store it holds .*notes.txt.*, .*pipe.* which are not arrays' mkfifo getfattr <<'END'
zarrfs create s.zarr g/a --shape 4 --dtype u1; echo text > s.zarr/g/notes.txt
mkfifo s.zarr/g/pipe; ln -s /etc s.zarr/g/outward
mkdir mnt; zarrfs mount s.zarr mnt
rm -r mnt/g || true
zarrfs errors mnt; getfattr -n user.zarrfs.error mnt/g
rm s.zarr/g/notes.txt s.zarr/g/pipe; rm -r mnt/g; test ! -e s.zarr/g
END

check 'An array that cannot be written shows it by its mode' '^444 mnt/a.npy
^444 mnt/a.raw
Operation not supported|Permission denied
numcodecs.bitround' getfattr <<'END'
zarrfs create s.zarr a --shape 4 --dtype bool --codecs none
tr -d '\n' < s.zarr/a/zarr.json |
	sed 's/"codecs": \[/&{"name": "numcodecs.bitround", "configuration": {"keepbits": 3}},/' > doc
mv doc s.zarr/a/zarr.json
mkdir mnt; zarrfs mount s.zarr mnt
stat -c '%a %n' mnt/a.npy mnt/a.raw; printf 1234 | dd of=mnt/a.raw conv=notrunc || true
getfattr -n user.zarrfs.error mnt/a.raw
END

check 'So it is in a folder that may not be changed, and in a mount for reading only' \
	'^444 mnt/fixed.npy
^444 mnt/ro.npy' root <<'END'
zarrfs create s.zarr fixed --shape 4 --dtype u1; zarrfs create s.zarr ro --shape 4 --dtype u1
chmod 555 s.zarr/fixed
mkdir mnt; zarrfs mount --allow-other s.zarr mnt; stat -c '%a %n' mnt/fixed.npy; zarrfs umount mnt
zarrfs mount --read-only s.zarr mnt; stat -c '%a %n' mnt/ro.npy
END

check '200 levels are removed in a second, the best of five (in three where others work)' \
	'^in time' <<'END'
zarrfs create s.zarr --group; mkdir mnt; zarrfs mount s.zarr mnt; TIMEFORMAT=%R
for i in 1 2 3 4 5; do mkdir -p mnt/$(seq -s / 200); time rm -r mnt/1; done 2>&1 | tee times
read load rest < /proc/loadavg; echo load $load, $(nproc) processors
sort -g times | head -n 1 |
	awk -v load=$load -v all=$(nproc) '$1 <= (load > all ? 3 : 1) { print "in time" }'
END
