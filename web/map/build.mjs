// Builds the program of the report into src/flowveil/_report/assets (or the folder given): npx tsc -p map && node map/build.mjs
// Its first line holds a hash of the sources, so that a test without node can tell whether it is up to date.
import {createHash} from 'node:crypto';
import {readFileSync, readdirSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, '..', '..', 'src', 'flowveil', '_report', 'assets');
const hash = createHash('sha256');
for (const name of readdirSync(here).sort()) hash.update(name).update('\0').update(readFileSync(join(here, name))).update('\0');

await build({
  absWorkingDir: here,
  entryPoints: {report: 'report.ts'},
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  banner: {js: `"use strict";/* flowveil map, sources ${hash.digest('hex')} */`},
  outdir: target,
  logLevel: 'warning',
});
