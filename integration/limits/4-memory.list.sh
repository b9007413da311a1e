# Memory limits count. The clauses are run by limits.sh.

check 'Defaults follow the control group of the process' '"cache_size": 6[0-7][0-9]{6}\b
"dirty_size": 3[0-3][0-9]{6}\b' root group <<'END'
mkdir $group; echo 256M > $group/$limit
zarrfs create s.zarr --group; mkdir mnt
(echo $BASHPID > $group/cgroup.procs; exec zarrfs mount s.zarr mnt)
grep -E '"(cache|dirty)_size"' mnt/.zarrfs/status.json
END

check 'Defaults follow the control groups above: SLURM limits a job, and the process is in a step' \
	'"cache_size": 6[0-7][0-9]{6}\b
"dirty_size": 3[0-3][0-9]{6}\b' root group <<'END'
mkdir -p $group/job; echo 256M > $group/$limit
zarrfs create s.zarr --group; mkdir mnt
(echo $BASHPID > $group/job/cgroup.procs; exec zarrfs mount s.zarr mnt)
grep -E '"(cache|dirty)_size"' mnt/.zarrfs/status.json
END

check 'Defaults follow the group of a container, which sees it as the root of all groups' \
	'"cache_size": 6[0-7][0-9]{6}\b
"dirty_size": 3[0-3][0-9]{6}\b' root group unshare <<'END'
mkdir $group; echo 256M > $group/$limit
zarrfs create s.zarr --group; mkdir mnt
cat > container <<'INNER'
umount $groups && (mount -t cgroup -o memory none $groups || mount -t cgroup2 none $groups)
cat /proc/self/cgroup | grep -E ':memory:|^0:'
zarrfs mount s.zarr mnt
grep -E '"(cache|dirty)_size"' mnt/.zarrfs/status.json
zarrfs umount mnt
INNER
(echo $BASHPID > $group/cgroup.procs; exec unshare --cgroup --mount bash -e container)
END

check 'Defaults follow groups of versions 1 and 2, of systemd, SLURM and containers' \
	'^ok ' go <<'END'
cd $PROJECT; go test -count=1 -run 'TestGroupLimit' -v ./cmd/zarrfs
END

check 'Defaults follow ulimit -v' '"cache_size": [1-9][0-9]{7,8},' <<'END'
zarrfs create s.zarr --group; mkdir mnt
(ulimit -v 4194304; exec zarrfs mount s.zarr mnt)
grep -E '"(cache|dirty)_size"' mnt/.zarrfs/status.json
END

check 'Defaults follow an ulimit -v of 2 GiB' '"cache_size": [3-6][0-9]{7},
"dirty_size": [1-3][0-9]{7},' <<'END'
zarrfs create s.zarr --group; mkdir mnt
(ulimit -v 2097152; exec zarrfs mount s.zarr mnt)
grep -E '"(cache|dirty)_size"' mnt/.zarrfs/status.json
END

# Below the least limit a mount refuses, or Go's runtime ends the program before its main begins.
check 'Each lower ulimit -v is refused at once, and nothing is mounted' \
	'^refused: 1?[0-9], not started: [0-9], died later: 0
^least: 1[789][0-9]{5}$' <<'END'
zarrfs create s.zarr --group; mkdir mnt; refused=0 unstarted=0 died=0
for limit in $(seq 500000 100000 3000000); do
	(ulimit -v $limit; exec zarrfs mount s.zarr mnt) 2> said && break
	if grep -q 'ulimit -v.* leaves .* raise the limit' said; then refused=$((refused + 1))
	elif grep -q '^fatal error: ' said && ! grep -q '^main\.main' said; then
		unstarted=$((unstarted + 1))
	else died=$((died + 1)); fi
	if mountpoint -q mnt; then echo mounted; exit 1; fi
done
echo refused: $refused, not started: $unstarted, died later: $died; echo least: $limit
END

check 'With too few addresses for a mount that is said at once' \
	'ulimit -v.* leaves .* raise the limit' <<'END'
zarrfs create s.zarr --group; mkdir mnt
for limit in $(seq 800000 100000 3000000); do
	(ulimit -v $limit; zarrfs mount s.zarr mnt) && break
done 2>&1 | grep -m 1 '^zarrfs:'
END

# used PREFIX prints the commands that use a mount of 2 GiB. 64 programs compare it at random with
# its source, and 4 write at random what is there.
used() {
	cat <<END
mkdir mnt; zarrfs create s.zarr --group; $1
zarrfs create head.zarr a --shape 2048,1048576 --dtype u1
(zarrfs cat head.zarr a | head -c 128; head -c 2G /dev/urandom) > a.npy
cp a.npy mnt/a.npy
for i in \$(seq 64); do
	while sleep 0.1; do
		cmp -i \$((RANDOM * 65000)) -n 1M a.npy mnt/a.npy || echo >> wrong
		echo >> compared
	done &
done
for i in \$(seq 4); do
	while k=\$RANDOM; do
		dd if=a.npy of=mnt/a.npy bs=64K count=1 seek=\$k skip=\$k conv=notrunc,fsync status=none ||
			echo >> wrong
		echo >> written
	done &
done
sleep 20; kill \$(jobs -p); wait || true
echo \$(wc -l < compared) times 1 MiB compared, \$(wc -l < written) times 64 KiB written
grep VmHWM /proc/\$(grep pid mnt/.zarrfs/status.json | tr -dc 0-9)/status
cmp a.npy mnt/a.npy && zarrfs umount mnt && zarrfs mount s.zarr mnt && cmp a.npy mnt/a.npy &&
	echo equal, also after a remount
test ! -e wrong
END
}

check 'In 256 MiB, by default: 2 GiB are copied in, for 64 readers and 4 writers at random' \
	'equal, also after a remount
^[1-9][0-9]+ times .* compared, [1-9]' root group < <(used "mkdir \$group
echo 256M > \$group/\$limit
(echo \$BASHPID > \$group/cgroup.procs; exec zarrfs mount s.zarr mnt)")

check 'Under ulimit -v, by default: 2 GiB are copied in, for 64 readers and 4 writers at random' \
	'equal, also after a remount
^[1-9][0-9]+ times .* compared, [1-9]' \
	< <(used "(ulimit -v 4194304; exec zarrfs mount s.zarr mnt)")

check 'The same under ulimit -v of 2 GiB' \
	'equal, also after a remount
^[1-9][0-9]+ times .* compared, [1-9]' \
	< <(used "(ulimit -v 2097152; exec zarrfs mount s.zarr mnt)")

check 'The same under the least ulimit -v that a mount accepts' \
	'equal, also after a remount
^[1-9][0-9]+ times .* compared, [1-9]' \
	< <(used "for limit in \$(seq 1500000 20000 2097152); do
	(ulimit -v \$limit; exec zarrfs mount s.zarr mnt) && break
done; echo \$limit")

# large FLAGS prints the commands that write 480 MB into an array made with these flags, and
# change them.
large() {
	cat <<END
mkdir mnt; zarrfs create s.zarr a --shape 480,1000000 --dtype u1 $1
mkdir \$group; echo 256M > \$group/\$limit
head -c 480000000 /dev/urandom > a.raw
(echo \$BASHPID > \$group/cgroup.procs; exec zarrfs mount s.zarr mnt)
dd if=a.raw of=mnt/a.raw bs=1M conv=notrunc,fsync status=none
for i in \$(seq 40); do
	echo change \$i | tee >(dd of=a.raw bs=1 seek=\$((i * 11000000)) conv=notrunc status=none) |
		dd of=mnt/a.raw bs=1 seek=\$((i * 11000000)) conv=notrunc status=none
done
sync mnt; grep VmHWM /proc/\$(grep pid mnt/.zarrfs/status.json | tr -dc 0-9)/status
zarrfs umount mnt && zarrfs cat --view raw s.zarr a | cmp - a.raw && echo equal
END
}

check 'In 256 MiB, by default: shards of 100 MB are written' \
	'^ *equal' root group < <(large '--chunks 10,1000000 --shards 100,1000000')

check 'In 256 MiB, by default: chunks of 60 MB are written' \
	'^ *equal' root group < <(large '--chunks 60,1000000')

check 'In 256 MiB, by default: chunks of one element, for 64 readers and 4 writers at random' \
	'^ok ' root group go <<'END'
cd $PROJECT
ZARRFS_BINARY=$(command -v zarrfs) go test -count=1 -run 'TestMemoryGroupNarrow' -v ./integration
END
