% Writes what Octave reads of a file: octave-cli dump_h5.m FILE DIR HOW. HOW is load, or ncread with
% the names of the variables behind it. DIR gets what group_tools.py describes.

1;

function put(dir, listed, path, values)
  persistent count = 0;
  count += 1;
  kind = class(values);
  if (ischar(values))
    kind = "chars";
  end
  fprintf(listed, "array\t%s\t%s%s\n", path, kind, sprintf("\t%d", size(values)));
  out = fopen(fullfile(dir, num2str(count)), "w");
  fwrite(out, values, class(values), 0, "ieee-le");
  fclose(out);
end

function put_all(dir, listed, prefix, from)
  for [value, key] = from
    path = [prefix key];
    if (isstruct(value))
      put_all(dir, listed, [path "/"], value);
    else
      put(dir, listed, path, value);
    end
  end
end

args = argv();
[file, dir, how] = args{1:3};
listed = fopen(fullfile(dir, "list"), "w");
if (strcmp(how, "load"))
  put_all(dir, listed, "", load("-hdf5", file));
else
  pkg load netcdf;
  for i = 4:numel(args)
    put(dir, listed, args{i}, ncread(file, args{i}));
  end
end
fclose(listed);
