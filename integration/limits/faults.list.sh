# Faults that were found once, made again in short. The clauses are run by limits.sh.

check 'A rename in the store during a flush: all is where the array is, or fsync fails' \
	'^all is in run2|^fsync failed' <<'END'
zarrfs create s.zarr run/a --shape 16777216 --dtype u1 --chunks 65536 --codecs none; mkdir mnt
zarrfs mount s.zarr mnt
head -c 16M /dev/urandom > bytes
dd if=bytes of=mnt/run/a.raw bs=60000 seek=1 skip=1 count=279 conv=notrunc,fsync status=none &
pid=$!
sleep 0.2; mv s.zarr/run s.zarr/run2
if wait $pid; then
	cmp -i 60000 -n 16740000 bytes mnt/run2/a.raw; zarrfs umount mnt
	zarrfs cat --view raw s.zarr run2/a | cmp -i 60000 -n 16740000 bytes -; echo all is in run2
else
	echo fsync failed
fi
test ! -e s.zarr/run
END

check 'A group is renamed while programs create in it: nothing is lost, and nothing half there' \
	'^lost: 0$
^folders without a document: 0$
^created: [1-9]' <<'END'
zarrfs create s.zarr g0 --group
zarrfs create one.zarr a --shape 100 --dtype u1 --chunks 50 --codecs none --fill-value 7
mkdir mnt; zarrfs mount s.zarr mnt
zarrfs cat one.zarr a > a.npy
for writer in 1 2 3; do
	for i in $(seq 60); do for g in mnt/g?; do
		cp a.npy $g/w$writer-$i.npy 2> /dev/null && echo w$writer-$i >> created
	done; done &
done
for i in 1 2 3 4 5 6 7; do sleep 0.2; mv -T mnt/g$((i - 1)) mnt/g$i; done; wait
echo created: $(sort -u created | wc -l); lost=0
for name in $(sort -u created); do cmp -s a.npy mnt/g7/$name.npy || lost=$((lost + 1)); done
echo lost: $lost
echo folders without a document: $(find s.zarr -mindepth 1 -type d -not -name c \
	-not -name '.zarrfs-*' -not -exec test -e {}/zarr.json ';' -print | wc -l)
END

check 'rm -r of a link, and of a group with links, leaves what they lead to' \
	'^s.zarr/run/a/zarr.json' <<'END'
zarrfs create s.zarr run/a --shape 4 --dtype u1; zarrfs create s.zarr g --group
ln -s run s.zarr/latest; ln -s ../run s.zarr/g/link; ln -s . s.zarr/self
mkdir mnt; zarrfs mount s.zarr mnt; ls -l mnt | grep -- '->'; find mnt -type d
rm -r mnt/latest mnt/g; ls s.zarr/run/a/zarr.json; test ! -e s.zarr/latest -a ! -e s.zarr/g
END

check 'Readers of a file that is rewritten, appended to and cut see no zeros that nobody wrote' \
	'^reads: [1-9].*, with zeros: 0$' <<'END'
zarrfs create s.zarr a --shape 1048576 --dtype u1 --chunks 65536 --codecs none; mkdir mnt
zarrfs mount s.zarr mnt
head -c 1M /dev/zero | tr '\0' 7 > sevens; cp sevens mnt/a.raw
for reader in 1 2 3; do
	while sleep 0.01; do
		cat mnt/a.raw 2> /dev/null | grep -aqP '\x00' && echo >> zeros
		echo >> reads
	done &
done
for i in $(seq 40); do
	cp sevens mnt/a.raw; head -c 200000 sevens >> mnt/a.raw; truncate -s 500000 mnt/a.raw
done
kill $(jobs -p); touch zeros; echo reads: $(wc -l < reads), with zeros: $(wc -l < zeros)
END

check 'Two tars unpack one tree at once: if both exit 0, no array, chunking or attribute is lost' \
	'^rounds: 8, both exited 0: [1-9]$' <<'END'
zarrfs create t.zarr --group
for i in 1 2 3 4; do
	zarrfs create t.zarr tree/g$i/a --shape 20,6 --dtype u2 --chunks 7,2 --attributes '{"a": 1}'
done
mkdir mnt out; zarrfs mount t.zarr mnt
head -c 240 /dev/urandom | tee mnt/tree/g{1,2,3,4}/a.raw > /dev/null
tar -C mnt -cf tree.tar tree; both=0
for i in $(seq 8); do
	tar -C mnt --transform "s,tree,new$i," -xf tree.tar &
	tar -C mnt --transform "s,tree,new$i," -xf tree.tar || { wait $! || true; continue; }
	wait $! || continue
	both=$((both + 1)); diff -r mnt/tree mnt/new$i
done
echo rounds: $i, both exited 0: $both
END

check 'Programs of one mount create, rename and remove at once: nothing is stale or left over' \
	'^errors of mount: 0
^unsaved: 0
^umount: 0' <<'END'
zarrfs create s.zarr --group; zarrfs create one.zarr a --shape 5000 --dtype u1 --chunks 100
zarrfs cat one.zarr a > a.npy; mkdir mnt; zarrfs mount s.zarr mnt
for i in 1 2 3 4; do
	for k in $(seq 40); do
		mkdir -p mnt/g$((k % 3)); cp a.npy mnt/g$((k % 3))/a$i.npy
		mv mnt/g$((k % 3)) mnt/h$((k % 2)); rm -rf mnt/h$((k % 2))
	done 2> /dev/null || true &
done
wait
echo errors of mount: $(zarrfs errors mnt | grep -c -E 'ESTALE|EIO')
echo unsaved: $(ls $TMPDIR | grep -c unsaved); zarrfs umount mnt; echo umount: $?
END

check 'What cannot be created for want of inodes leaves nothing, and can be created again' \
	'No space left
^nothing is left
^created' root <<'END'
mkdir disk mnt; mount -t tmpfs -o size=4m,nr_inodes=40 none disk
zarrfs create disk/s.zarr --group; zarrfs create one.zarr a --shape 4 --dtype u1
zarrfs cat one.zarr a > a.npy
zarrfs mount disk/s.zarr mnt
for i in $(seq 50); do touch disk/full$i 2> /dev/null || break; done; rm disk/full1
cp a.npy mnt/made.npy || ls mnt
test ! -e mnt/made.npy -a ! -e mnt/made -a ! -e disk/s.zarr/made; echo nothing is left
rm disk/full*; cp a.npy mnt/made.npy; cmp a.npy mnt/made.npy; echo created
END

check 'sync of a folder of the mount stores all; what the kernel does not pass on is documented' \
	'^4567$
`sync` and `sync -f` store nothing' <<'END'
zarrfs create s.zarr a --shape 4 --dtype u1 --codecs none; mkdir mnt; zarrfs mount s.zarr mnt
exec 3<> mnt/a.raw; (printf 4567; sync mnt
kill -KILL $(grep pid mnt/.zarrfs/status.json | tr -dc 0-9)) >&3 || true
cat s.zarr/a/c/0; echo; zarrfs umount mnt || true
grep -h 'sync` and' $PROJECT/README.md
END

check 'Another program appends while a flush runs: a file opened then is what the store has' \
	'^rounds: 20, different: 0$' <<'END'
zarrfs create s.zarr a --shape 64 --dtype u1 --chunks 16 --codecs none; mkdir one two
zarrfs mount s.zarr one; zarrfs mount s.zarr two; different=0
for i in $(seq 20); do
	head -c 64 /dev/urandom | dd of=one/a.raw conv=notrunc,fsync status=none &
	printf 0123456789 | dd of=two/a.raw oflag=append conv=notrunc,fsync status=none; wait
	zarrfs cat --view raw s.zarr a | cmp - one/a.raw && cmp one/a.raw two/a.raw ||
		different=$((different + 1))
done
echo rounds: $i, different: $different
END

check 'Two mounts append at once: the longer shape stays, and each byte is one of the writers' \
	'' <<'END'
zarrfs create s.zarr a --shape 4 --dtype u1 --chunks 8 --codecs none; mkdir one two
zarrfs mount s.zarr one; zarrfs mount s.zarr two
printf 0000 | tee one/a.raw > two/a.raw
printf aaa | dd of=one/a.raw oflag=append conv=notrunc,fsync status=none &
printf bbbbb | dd of=two/a.raw oflag=append conv=notrunc,fsync status=none; wait
zarrfs cat --view raw s.zarr a | tee result; echo
grep -q -x -E '0000[ab]{3}bb|0000aaabbbbb|0000bbbbbaaa' result
END

check 'A bad TMPDIR is reported as that' 'TMPDIR' <<'END'
zarrfs create s.zarr --group; mkdir mnt
TMPDIR=/nothing/here zarrfs mount s.zarr mnt || echo exit $?
END
