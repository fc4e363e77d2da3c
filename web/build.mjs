// Builds the page into src/flowveil/_app/assets (or the folder given). Nothing of others is bundled.
// The first line of app.js holds a hash of the sources, so that a test without node can tell whether it is up to date.
import {createHash} from 'node:crypto';
import {copyFileSync, mkdirSync, readFileSync, readdirSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, '..', 'src', 'flowveil', '_app', 'assets');
mkdirSync(target, {recursive: true});

function hashOfSources() {
  const hash = createHash('sha256');
  const files = ['build.mjs', 'package-lock.json', 'package.json', 'tsconfig.json'];
  files.push(...readdirSync(join(here, 'src')).map((name) => `src/${name}`));
  for (const file of files.sort()) {
    hash.update(file).update('\0').update(readFileSync(join(here, file))).update('\0');
  }
  return hash.digest('hex');
}

await build({
  absWorkingDir: here,
  entryPoints: {app: 'src/main.ts', style: 'src/style.css'},
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  banner: {js: `/* flowveil page, sources ${hashOfSources()} */`},
  outdir: target,
  logLevel: 'warning',
});
copyFileSync(join(here, 'src', 'index.html'), join(target, 'index.html'));
copyFileSync(join(here, 'src', 'mark.svg'), join(target, 'mark.svg'));
