// Builds the page into src/flowveil/_app/assets (or the folder given), with the licenses of all that is bundled.
// The first line of app.js holds a hash of the sources, so that a test without node can tell whether it is up to date.
import {createHash} from 'node:crypto';
import {copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
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

const result = await build({
  absWorkingDir: here,
  entryPoints: {app: 'src/main.ts', style: 'src/style.css'},
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  pure: ['console.warn'], // of libraries, about clusters that this page does not use
  define: {'process.env.NODE_ENV': '"production"'},
  banner: {js: `/* flowveil page, sources ${hashOfSources()}; licenses of what is bundled: third-party.txt */`},
  outdir: target,
  metafile: true,
  logLevel: 'warning',
});
copyFileSync(join(here, 'src', 'index.html'), join(target, 'index.html'));
copyFileSync(join(here, 'src', 'mark.svg'), join(target, 'mark.svg'));

const packages = new Set();
for (const output of Object.values(result.metafile.outputs)) {
  for (const [input, {bytesInOutput}] of Object.entries(output.inputs)) {
    const found = input.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)/);
    if (found && bytesInOutput > 0) packages.add(found[0]);
  }
}
let notice = 'The page of flowveil serve contains the following packages.\n';
const texts = new Map();
for (const folder of [...packages].sort()) {
  const about = JSON.parse(readFileSync(join(here, folder, 'package.json'), 'utf8'));
  const file = readdirSync(join(here, folder)).find((name) => /^(licen[sc]e|copying)/i.test(name));
  // One package has its license in its README only: it is copied to licenses/.
  const path = file ? join(here, folder, file) : join(here, 'licenses', `${about.name}.txt`);
  const text = readFileSync(path, 'utf8').replace(/\r/g, '').trim();
  notice += `\n${about.name} ${about.version}: ${about.license ?? 'see below'}`;
  texts.set(text, [...(texts.get(text) ?? []), about.name]);
}
for (const [text, names] of texts) notice += `\n\n\n==== ${names.join(', ')}\n\n${text}`;
writeFileSync(join(target, 'third-party.txt'), `${notice}\n`);
