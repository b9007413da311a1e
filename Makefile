# Everything a developer does, one target each; `make help` lists them.

BIN      := bin/zarrfs
VENV_V3  := .venv-v3
VENV_V2  := .venv-v2
PY3      := $(abspath $(or $(ZARRFS_PY3),$(VENV_V3)/bin/python))
PY2      := $(abspath $(or $(ZARRFS_PY2),$(VENV_V2)/bin/python))
PYALL    := $(abspath $(or $(ZARRFS_PY_ALL),.venv-all/bin/python))
PYVIEWS  := $(abspath $(or $(ZARRFS_PY_VIEWS),.venv-views/bin/python))
PYFAR    := $(abspath $(or $(ZARRFS_PY_FAR),.venv-far/bin/python))
PYNEWEST := $(abspath $(or $(ZARRFS_PY_NEWEST),.venv-newest/bin/python))
SERVERS  := $(or $(ZARRFS_SERVERS),.servers)
BENCH    := $(or $(ZARRFS_BENCH_DATA),bench-data)
W        :=
OPS      := seq,seq128,rand,hot,col,warm,readers
WRITE_OPS := write,write64,over,randw,append
ROUNDS   := 5
BASE     := HEAD~1
AGAINST  :=
RUNS     := 2000
PART     := 1/1
RACE_MS  := 10000
FUZZRUNS := 250000x
FUZZ     :=

PROVE    = ZARRFS_BINARY=$(abspath $(BIN)) ZARRFS_PY3=$(PY3) ZARRFS_PY2=$(PY2) \
	ZARRFS_REQUIRE_PEERS=1 go test -count=1 -v

.DEFAULT_GOAL := help
.PHONY: help build check demo test mistakes race lint measures fuzz fuzz-views peers servers \
	interop interop-far interop-all everyday model kill faults races limits prove bench \
	bench-quick bench-write bench-against ls-bench bench-open bench-groups bench-views clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

check: ## look for what building and mounting needs
	@integration/check.sh

build: ## build bin/zarrfs, one static binary
	CGO_ENABLED=0 go build -trimpath -o $(BIN) ./cmd/zarrfs

demo: check build ## make a small store, mount it, read and write it with plain tools
	@integration/demo/demo.sh $(BIN)

test: check ## run all tests; they need only Go, C and /dev/fuse; WITHOUT_INTEROP=1 for fewer
	go test -timeout 45m $(if $(WITHOUT_INTEROP),-skip '^($(INTEROP))$$') ./...

# The tests that compare arrays which other libraries wrote, by their whole names.
INTEROP  := TestInterop(Newest|All|Far)?|TestCorpora|TestMigration|TestPeersRead
INTEROP  := $(INTEROP)|TestOthersRead(Newest|All)?|TestReadersOf[A-Za-z]+

# Tests of integration that say nothing about races, or take long: they compare with other
# libraries, fill a disk, cut its power, or kill a daemon.
NORACE   := $(INTEROP)|TestOrders|TestFullDisk|TestFullDiskBesideRenames|TestKilledBesideRenames
NORACE   := $(NORACE)|TestPowerCut(Loses|OfFiles)?|TestKilledAtAnyCall|TestTracerKills
NORACE   := $(NORACE)|TestFileSystemInAnArray|TestFio|TestLinesTakeSpace|TestEveryday
NORACE   := $(NORACE)|TestGroupFilesInTools

mistakes: check ## replay what new users do wrong, and print each text
	go test -count=1 -v -run 'TestMistakes' ./cmd/zarrfs

# The detector needs goroutines that meet, not all values: -short makes samples of the long loops.
# And it would let each program wait for a second at its exit.
RACE     = GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 go test -race -short -timeout 45m

race: check ## run the tests of concurrent code under the race detector, also those with mounts
	$(RACE) -skip '^($(INTEROP))$$' $$(integration/race_packages.sh | grep -v '/integration$$')
	ZARRFS_MODEL_RUNS=$(or $(ZARRFS_MODEL_RUNS),6) $(RACE) -skip '^($(NORACE))$$' ./integration

# Tests of integration that read documents and sources, and mount nothing.
DOCUMENTS := Test(PromisesAre|FormatsAre)Tested|TestPagesAreShort|TestPagesNameFiles|TestLinks
DOCUMENTS := $(DOCUMENTS)|TestShortNamesOfFiles|TestEveryParserIsFuzzed|TestLayers|TestRoomTable
DOCUMENTS := $(DOCUMENTS)|TestNoViewIsNamed|TestDocumented|TestNothingLeftOpen

lint: ## gofmt, go vet, staticcheck, plain prose, documents that name files and tests
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these files"; exit 1; }
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	go test ./integration/measures
	go test -run '^($(DOCUMENTS))$$' ./integration

measures: ## print how large the rooms are, the maps by path, and how plain the prose is
	@go run ./integration/measures

fuzz: ## run every fuzz target 250,000 times, 10^7 in all (an hour); FUZZ=compress for some of them
	@integration/fuzz.sh $(FUZZRUNS) $(FUZZ)

# Other programs read them. ZARRFS_HEADERS and ZARRFS_GROUPS are how many there are of each.
fuzz-views: ## random headers and random files of groups, other ones each time (5 minutes)
	ZARRFS_HEADERS=$${ZARRFS_HEADERS:-5000} ZARRFS_GROUPS=$${ZARRFS_GROUPS:-200} \
		ZARRFS_HEADERS_SEED=$${ZARRFS_HEADERS_SEED:-$$(date +%s)} \
		ZARRFS_GROUPS_SEED=$${ZARRFS_GROUPS_SEED:-$$(date +%s)} \
		go test ./integration -count=1 -v -timeout 30m \
		-run 'TestReadersOfRandomHeaders|TestGroupFilesOfRandomGroups'

peers: ## install the libraries and programs that the comparisons need
	@integration/interop/venvs.sh

servers: ## install the servers of object stores that tests run (some minutes)
	@integration/interop/servers.sh

interop: check build peers ## compare arrays that other libraries wrote, through a mount
	ZARRFS_BINARY=$(abspath $(BIN)) ZARRFS_PY3=$(PY3) ZARRFS_PY2=$(PY2) \
		ZARRFS_PY_VIEWS=$(PYVIEWS) ZARRFS_PY_NEWEST=$(PYNEWEST) \
		ZARRFS_REQUIRE_PEERS=1 ZARRFS_INTEROP_ALL=1 \
		go test -count=1 -timeout 30m -v -run '^($(INTEROP))$$' ./integration ./zarrcore/codec

interop-far: check build peers servers ## the same arrays through web servers and object stores
	ZARRFS_INTEROP_FAR=1 $(PROVE) -timeout 1h -run '^TestInteropFar$$' ./integration

everyday: check build peers ## commands that people type, each compared with zarr-python afterwards
	$(PROVE) -timeout 30m -run 'TestEveryday' ./integration

# These are xarray, dask, anndata, ome-zarr, acquire-zarr, netcdf-c, GDAL, zarrita, zarrs and
# zarr-java. It needs Python 3.12 or later; zarrita needs node, the zarrs crate cargo, and zarr-java
# a JDK and Maven.
interop-all: check build peers ## the same with ten more libraries, from xarray to zarr-java
	@integration/interop/newest_python.sh >/dev/null || \
		{ echo "no Python of 3.12 or later here: ZARRFS_PYTHON names one" >&2; exit 1; }
	@integration/interop/venvs.sh all
	ZARRFS_PY_ALL=$(PYALL) $(PROVE) -timeout 1h \
		-run 'TestInteropAll|TestOthersReadAll' ./integration

model: check build peers ## 2,000 random runs against a model (half an hour); RUNS=100 for fewer
	ZARRFS_MODEL_RUNS=$(RUNS) $(PROVE) -timeout 24h -run 'TestWriteModel' ./integration

kill: check build peers ## kill the daemon before each call of a script (half an hour); PART=1/8
	ZARRFS_KILL_PART=$(PART) $(PROVE) -parallel 4 -timeout 4h \
		-run 'TestKilledAtAnyCall|TestTracerKills' ./integration

faults: check build peers ## full disks, power cuts, a file system in an array, fio (as root)
	ZARRFS_FULL_CYCLES=100 ZARRFS_POWER_CUTS=50 ZARRFS_REQUIRE_ROOT=1 \
		$(PROVE) -timeout 1h ./integration \
		-run 'TestFullDisk|TestPowerCut|TestFileSystemInAnArray|TestFio|SameChunk|OneChunk'

RACES    := RenameRaces|FinalFlushRaces|UnpackedTwiceAtOnce|StormInOneMount
RACES    := $(RACES)|CutAndAppendKeepNoError|OpenedWhileRenamed|NoZerosThatNobodyWrote
RACES    := $(RACES)|KilledBesideRenames|FullDiskBesideRenames|MappedEndIsKept

races: check build peers ## 10,000 rounds of renames and reads beside writers (20 minutes)
	ZARRFS_RACE_MS=$(RACE_MS) ZARRFS_UNPACK_ROUNDS=20 \
		$(PROVE) -timeout 4h -run '^Test($(RACES))$$' ./integration

limits: check build ## show the limits by commands that people type: ok or BAD (as root)
	ZARRFS_PY3=$(PY3) integration/limits/limits.sh $(BIN)

# Nothing else should run on the machine meanwhile.
prove: check build peers ## kill, model, races, limits, everyday, mistakes, faults (1 h; as root)
	@integration/prove.sh $(or $(LOGS),prove-logs)

bench: check build peers ## compare speed with plain files and libraries (10 GB, three hours)
	$(PY3) integration/bench/make_workloads.py --dir $(BENCH)
	$(PY3) integration/bench/bench.py --bin $(BIN) --data $(BENCH) --rounds $(ROUNDS)
	$(PY3) integration/bench/write_bench.py --bin $(BIN) --data $(BENCH) --rounds $(ROUNDS)
	$(PY3) integration/bench/ls_bench.py --bin $(BIN) --data $(BENCH)
	$(PY3) integration/bench/open_bench.py --bin $(BIN) --data $(BENCH)
	$(PYVIEWS) integration/bench/group_bench.py --bin $(BIN) --data $(BENCH)
	$(PYVIEWS) integration/bench/view_bench.py --bin $(BIN) --data $(BENCH) --rounds $(ROUNDS)

bench-quick: check build peers ## a part of it: make bench-quick W=W5 OPS=seq,rand ROUNDS=3
	$(PY3) integration/bench/make_workloads.py --dir $(BENCH) $(W)
	$(PY3) integration/bench/bench.py --bin $(BIN) --data $(BENCH) --ops $(OPS) \
		--rounds $(ROUNDS) $(W)

bench-write: check build peers ## the writing part: make bench-write W=W5 WRITE_OPS=append
	$(PY3) integration/bench/make_workloads.py --dir $(BENCH) $(W)
	$(PY3) integration/bench/write_bench.py --bin $(BIN) --data $(BENCH) --ops $(WRITE_OPS) \
		--rounds $(ROUNDS) $(W)

bench-against: check build peers ## compare speed with an older commit: BASE=main~20 W=W5 ROUNDS=3
	@mkdir -p $(BENCH) && rm -rf $(BENCH)/base && git worktree prune && \
		git worktree add -q --detach $(BENCH)/base $(BASE)
	cd $(BENCH)/base && \
		CGO_ENABLED=0 go build -trimpath -o $(abspath $(BENCH))/zarrfs-base ./cmd/zarrfs
	git worktree remove --force $(BENCH)/base
	$(PY3) integration/bench/make_workloads.py --dir $(BENCH) $(W)
	$(PY3) integration/bench/against.py --bin $(BIN) --base $(BENCH)/zarrfs-base \
		--data $(BENCH) --rounds $(ROUNDS) $(AGAINST) $(W)

ls-bench: check build peers ## time ls and ls -l of a group of 100,000 arrays
	$(PY3) integration/bench/ls_bench.py --bin $(BIN) --data $(BENCH)
	$(PY3) integration/bench/ls_bench.py --bin $(BIN) --data $(BENCH) --long --formats v3

bench-open: check build peers ## time opening arrays of a million chunks beside arrays of a thousand
	$(PY3) integration/bench/open_bench.py --bin $(BIN) --data $(BENCH)

bench-groups: check build peers ## time scans through .nc and .h5 of a group, and opening them
	$(PYVIEWS) integration/bench/group_bench.py --bin $(BIN) --data $(BENCH)

bench-views: check build peers ## time reads through .nc by h5py, netCDF4 and xarray (20 minutes)
	$(PY3) integration/bench/make_workloads.py --dir $(BENCH) W1 W2 W3 W4
	$(PYVIEWS) integration/bench/view_bench.py --bin $(BIN) --data $(BENCH) --rounds $(ROUNDS) $(W)

# It needs root, and Python 3.12 or later. FAR_ARGS=--peers= leaves out the other libraries.
.PHONY: bench-remote
bench-remote: check build ## time scans through a slow link (half an hour, as root)
	@integration/interop/venvs.sh far
	@integration/interop/servers.sh far
	$(PYFAR) integration/bench/make_workloads.py --quarter --dir $(BENCH)/far W1 W2 W3 W5 W6
	go build -o bin/wan ./integration/wan
	bin/wan -limit 1h $(PYFAR) integration/bench/far_bench.py --bin $(BIN) \
		--data $(BENCH)/far --servers $(SERVERS) --rounds $(ROUNDS) $(FAR_ARGS) $(W)

clean: ## remove what was built and downloaded
	rm -rf bin .venv-* bench-data integration/interop/*/target
