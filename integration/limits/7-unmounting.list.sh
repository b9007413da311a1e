# Unmounting says what it waits for. The clauses are run by limits.sh.

check 'A copy of the mount in another namespace, as a container has it, is found and named' \
	'waiting for their end
copies of the mount in other mount namespaces.*sleep \(pid [0-9]+\) at
^exit [1-9]' root unshare <<'END'
zarrfs create s.zarr --group; mkdir mnt; zarrfs mount s.zarr mnt
unshare --mount sleep 60 & sleep 1
zarrfs umount --timeout 2s mnt || echo exit $?
END

check 'umount waits for the copy to end, and then exits 0' 'waiting for their end
^exit 0' root unshare <<'END'
zarrfs create s.zarr --group; mkdir mnt; zarrfs mount s.zarr mnt
unshare --mount sleep 4 & sleep 1
zarrfs umount mnt; echo exit $?
END

check '--force ends the copy, and what was written in it is stored' \
	'cut off: sleep \(pid [0-9]+\)
^exit 0
in the copy' root unshare <<'END'
zarrfs create s.zarr a --shape 11 --dtype u1; mkdir mnt; zarrfs mount s.zarr mnt
unshare --mount sh -c 'exec 3<> mnt/a.raw; printf "in the copy" >&3; exec sleep 60' & sleep 1
zarrfs umount --force mnt; echo exit $?
zarrfs cat --view raw s.zarr a
END

check 'After umount -l, or an umount that did not wait, zarrfs umount still finds the copy' \
	'is unmounted here, but copies
^exit 0' root unshare <<'END'
zarrfs create s.zarr --group; mkdir mnt; zarrfs mount s.zarr mnt
unshare --mount sleep 60 & sleep 1
umount mnt
zarrfs umount mnt || zarrfs umount --force mnt; echo exit $?
END

check 'SIGTERM while a copy goes on: the log says which, not only "unmounting"' \
	'copies of the mount in other mount namespaces go on.*sleep' root unshare <<'END'
zarrfs create s.zarr --group; mkdir mnt; zarrfs mount --foreground s.zarr mnt 2> log & pid=$!
sleep 1
unshare --mount sleep 60 & sleep 1
kill $pid; sleep 4; cat log
END

check 'A second SIGTERM ends a mount that is in use, and says that all is stored if it is' \
	'in use: detached.*sleep
all that was written is stored' <<'END'
zarrfs create s.zarr a --shape 6 --dtype u1; mkdir mnt
zarrfs mount --foreground s.zarr mnt 2> log & pid=$!; sleep 1
printf stored | dd of=mnt/a.raw conv=notrunc,fsync status=none
sleep 60 < mnt/a.raw & sleep 0.5
kill $pid; sleep 3; kill $pid; wait $pid; cat log
if grep 'not all' log; then false; fi
END

check 'A second SIGTERM says what is not stored, and a third keeps it in a file' \
	'not all is stored yet; one more signal
unmounted, but not all is stored
zarrfs-unsaved-' root <<'END'
mkdir disk mnt; mount -t tmpfs -o size=1m none disk
zarrfs create disk/s.zarr a --shape 4194304 --dtype u1
zarrfs mount --foreground disk/s.zarr mnt 2> log & pid=$!; sleep 1
head -c 4M /dev/urandom | dd of=mnt/a.raw conv=notrunc bs=1M status=none ||
	sleep 60 < mnt/a.raw & sleep 2
for i in 1 2 3; do kill $pid; sleep 1; done; wait $pid || echo exit $?
cat log; ls $TMPDIR
END

check 'zarrfs mount holds no lock and no pipe of the shell that started it' \
	'^the pipe has ended
^the lock is free' flock <<'END'
zarrfs create s.zarr --group; mkdir mnt
exec 9> lock; flock 9; zarrfs mount s.zarr mnt 7>&1 | cat; echo the pipe has ended
exec 9>&-; flock --nonblock lock echo the lock is free
ls -l /proc/$(grep pid mnt/.zarrfs/status.json | tr -dc 0-9)/fd |
	grep -v -E 'total|/dev/null|/dev/fuse|socket|anon_inode|/s.zarr' || true
END

check 'umount names the programs that have files open' 'in use by sleep \(pid [0-9]+\)
^exit [1-9]' <<'END'
zarrfs create s.zarr a --shape 6 --dtype u1; mkdir mnt; zarrfs mount s.zarr mnt
sleep 60 < mnt/a.raw & sleep 0.5
zarrfs umount mnt || echo exit $?
END

check 'umount of a mount that does not answer says so in seconds, and --force ends it' \
	'does not answer, because it is stopped. Continue it with `kill -CONT
^exit [1-9], [5-9] s
^forced, exit 4, [0-9] s' <<'END'
zarrfs create s.zarr --group; mkdir mnt; zarrfs mount s.zarr mnt
pid=$(grep pid mnt/.zarrfs/status.json | tr -dc 0-9); kill -STOP $pid
SECONDS=0; zarrfs umount mnt || echo "exit $?, $SECONDS s"
SECONDS=0; zarrfs umount --force mnt || echo "forced, exit $?, $SECONDS s"; kill -KILL $pid
END

check 'A mount that is stopped at any moment of an unmount lets it end within 20 s' \
	'^longest: 1?[0-9] s' <<'END'
zarrfs create s.zarr a --shape 4194304 --dtype u1 --chunks 4096; mkdir mnt; longest=0
for after in 0.01 0.03 0.06 0.1; do
	zarrfs mount s.zarr mnt; pid=$(grep pid mnt/.zarrfs/status.json | tr -dc 0-9)
	head -c 4M /dev/urandom | dd of=mnt/a.raw conv=notrunc bs=1M status=none
	SECONDS=0; zarrfs umount mnt & sleep $after; kill -STOP $pid; wait $! || echo exit $?
	[ $SECONDS -le $longest ] || longest=$SECONDS
	kill -CONT $pid || true; sleep 1; zarrfs umount --force mnt || true
done
echo longest: $longest s
END
