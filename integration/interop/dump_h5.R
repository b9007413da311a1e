# Writes what R reads of a file: dump_h5.R FILE DIR LIBRARY, which is ncdf4 or rhdf5.
# DIR has the elements of each array as float64 or text, and a list of them: see group_tools.py.

args <- commandArgs(trailingOnly = TRUE)
file <- args[1]
dir <- args[2]
listed <- file(file.path(dir, "list"), "w", encoding = "UTF-8")
count <- 0

# write writes an array with its attributes, which are texts or numbers.
write <- function(path, values, attributes) {
	count <<- count + 1
	size <- if (is.null(dim(values))) length(values) else dim(values)
	kind <- if (is.character(values)) "text" else "float64"
	cat("array", path, kind, size, "\n", sep = "\t", file = listed)
	out <- file(file.path(dir, count), "wb")
	if (kind == "text") {
		writeLines(enc2utf8(as.vector(values)), out, useBytes = TRUE)
	} else {
		writeBin(as.double(as.vector(values)), out, endian = "little")
	}
	close(out)
	write_attributes(path, attributes)
}

write_attributes <- function(path, attributes) {
	for (name in names(attributes)) {
		value <- attributes[[name]]
		if (is.character(value)) {
			cat("text", path, name, enc2utf8(value), "\n", sep = "\t", file = listed)
		} else if (is.numeric(value)) {
			numbers <- format(as.double(value), digits = 17)
			cat("numbers", path, name, numbers, "\n", sep = "\t", file = listed)
		}
	}
}

if (args[3] == "ncdf4") {
	library(ncdf4)
	f <- nc_open(file, readunlim = FALSE)
	for (name in c(names(f$var), setdiff(names(f$dim), names(f$var)))) {
		if (name %in% names(f$dim) && !f$dim[[name]]$create_dimvar) next # it has no values
		attributes <- ncatt_get(f, name)
		write(name, ncvar_get(f, name, collapse_degen = FALSE, raw_datavals = TRUE), attributes)
		axes <- if (name %in% names(f$var)) sapply(f$var[[name]]$dim, function(d) d$name) else name
		if (length(axes) > 0) cat("names", name, basename(axes), "\n", sep = "\t", file = listed)
	}
	write_attributes("/", ncatt_get(f, 0))
} else {
	suppressMessages(library(rhdf5))
	all <- h5ls(file)
	for (i in which(all$otype == "H5I_DATASET")) {
		path <- sub("^/", "", paste(sub("/$", "", all$group[i]), all$name[i], sep = "/"))
		if (all$dclass[i] == "COMPOUND") next # of which R makes a list
		values <- suppressMessages(h5read(file, path, bit64conversion = "double"))
		if (is.factor(values)) {
			size <- dim(values)
			values <- as.integer(values) - 1
			if (length(size) > 0) dim(values) <- size
		}
		if (is.raw(values)) values <- array(as.integer(values), dim(values))
		write(path, values, h5readAttributes(file, path, bit64conversion = "double"))
	}
	write_attributes("/", h5readAttributes(file, "/", bit64conversion = "double"))
}
close(listed)
