// Bundles src/cli into dist/program.js, in which each lazily loaded part runs on its first use, and src/cli/start.ts into
// dist/tranched.js, which loads it.
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { commitOf } from './commit.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const out = join(root, 'dist')
const SWAP_TRIES = 5

const unused = (name) => `module.exports = class { constructor() { throw new Error('${name} is not part of the program') } }`
/**
 * Contents of modules of packages of which only a part is in use. undici's index also loads its fetch, WebSocket, mock and
 * cache; any other part fails the build with its name. The unused modules load http2, https, tls, zlib, cluster, webcrypto and
 * worker_threads of Node, 15 ms of every start.
 */
const SLIM = {
  'undici/index.js': `
  import api from './lib/api/index.js'
  import Dispatcher from './lib/dispatcher/dispatcher.js'
  Object.assign(Dispatcher.prototype, api)
  export { Dispatcher }
  export { default as Pool } from './lib/dispatcher/pool.js'
  export { default as errors } from './lib/core/errors.js'
`,
  'undici/lib/dispatcher/client-h2.js': unused('HTTP/2'),
  'prom-client/lib/pushgateway.js': unused('a push gateway'),
  'prom-client/lib/cluster.js': unused('a cluster of metrics'),
  '@opentelemetry/api/dist/index.cjs': unused('tracing'),
  'pino/lib/transport.js': unused('a transport of the log'),
  'sonic-boom/index.js': unused('a file of the log'),
  'hash-wasm/dist/index.umd.js': "module.exports = require('./keccak.umd.min.js')",
  '@noble/hashes/esm/cryptoNode.js': 'export const crypto = { getRandomValues: (bytes) => globalThis.crypto.getRandomValues(bytes) }',
}
/** Packages call it with a condition only. Loading Node's own takes 2 ms. */
const ASSERT = "module.exports = (value, ...rest) => { if (!value) require('node:assert')(value, ...rest) }"
const LATE = /^(node:(child_process|crypto|http|net|timers\/promises|v8|worker_threads|zlib)|node-cron)$/
const slim = {
  name: 'slim',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /[\\/]node_modules[\\/].*\.c?js$/ }, ({ path }) => {
      const [, inside] = path.replaceAll('\\', '/').split('/node_modules/')
      return inside in SLIM ? { contents: SLIM[inside], loader: 'js' } : undefined
    })
    onResolve({ filter: /^(node:)?assert$/ }, ({ namespace }) =>
      namespace === 'assert' ? undefined : { path: 'assert', namespace: 'assert' },
    )
    onLoad({ filter: /./, namespace: 'assert' }, () => ({ contents: ASSERT }))
    // Commander starts commands that are programs of their own, pino writes files in threads: neither is in use.
    onResolve({ filter: /^(node:child_process|worker_threads)$/ }, ({ path, importer }) =>
      /[\\/](commander|pino)[\\/]/.test(importer) ? { path, namespace: 'empty' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'empty' }, () => ({ contents: '' }))
    // Our own modules load those that most commands do not use on their first use.
    onResolve({ filter: LATE }, ({ path, kind, importer }) =>
      kind === 'import-statement' && importer.startsWith(join(root, 'src')) ? { path, namespace: 'late' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'late' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => name !== 'default')
      const getters = names.map((name) => `get ${name}() { return load().${name} }`)
      // Inherited, because every module that imports it would copy its own properties.
      const contents = `let loaded; const load = () => (loaded ??= require('${path}')); module.exports = Object.create({ ${getters} })`
      return { contents, resolveDir: root }
    })
  },
}

/** Packages that most processes never use, each a file of its own: text that is never run takes time to read, too. */
const RARE = ['nodemailer', 'undici']
const apart = (names) => ({
  name: 'apart',
  setup({ onResolve }) {
    onResolve({ filter: new RegExp(`^(${names.join('|')})$`) }, ({ path }) => ({ path: `./${path}.js`, external: true }))
  },
})

/** Parts of the program by name, which the launcher, threads and the small bundle load. */
const PARTS = {
  main: 'main.ts',
  'sweep-worker': 'sweep-worker.ts',
  'drift-worker': 'drift-worker.ts',
  'load-files': 'load-files.ts',
}

/** The small bundles load these parts of main.ts; they take the rest from the program. */
const SMALL = { halt: /\/halt\.ts$/, short: /\/(halt|root)\.ts$/ }
const small = (parts) => ({
  name: 'small',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import' || parts.test(path)) return undefined
      return { path: path.endsWith('/load-files.ts') ? './load-files.js' : path, external: true }
    })
  },
})
/** The commands of this bundle only read; src/cli/start.ts names them. */
const reading = {
  name: 'reading',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.\/(commands|completion)\// }, ({ kind, path }) => {
      const isOther = kind === 'dynamic-import' && !/\/inspect\/(status|ps|history|why)\.ts$/.test(path)
      return isOther ? { path, external: true } : undefined
    })
  },
}

const startedAt = performance.now()
const fresh = `${out}.new-${process.pid}`
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  legalComments: 'none',
  absWorkingDir: root,
  logLevel: 'warning',
}
const script = {
  ...common,
  format: 'cjs',
  // Imports are calls of `require`: a script cannot import.
  supported: { 'dynamic-import': false },
  define: { BUILT_FROM_COMMIT: JSON.stringify(commitOf(root) ?? '') },
}
try {
  const program = await buildProgram('program.js', PARTS, [apart(['nodemailer'])])
  await buildProgram('reading.js', { main: PARTS.main }, [reading, apart(RARE)])
  await Promise.all(RARE.map(buildPackage))
  await buildSmall()
  await buildRunner()
  const page = await buildPage('page')
  await buildPage('report')
  copyFileSync(join(root, 'src/ui/page/client/index.html'), join(fresh, 'page/index.html'))
  writeFileSync(join(fresh, 'package.json'), '{ "type": "commonjs" }\n')
  chmodSync(join(fresh, 'tranched.js'), 0o755)
  swap()
  await warmUp()
  report(program.metafile, page.metafile)
} finally {
  rmSync(fresh, { recursive: true, force: true })
}

/**
 * A script for src/cli/load-program.ts: a function that exports a function for each part. Its text is ASCII, which loads
 * fastest. Not minified: with a code cache that saves no time, and crash reports stay readable.
 */
function buildProgram(name, parts, plugins = []) {
  const lines = Object.entries(parts).map(([part, file]) => `exports['${part}'] = () => require('./${file}')`)
  return build({
    ...script,
    stdin: { contents: lines.join('\n'), resolveDir: join(root, 'src/cli'), sourcefile: 'parts.js' },
    outfile: join(fresh, name),
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    plugins: [slim, ...plugins],
    // Native binaries cannot be bundled.
    external: ['secp256k1', '@foundry-rs/anvil-linux-amd64'],
    define: { ...script.define, 'import.meta.url': 'bundleUrl' },
    banner: {
      js: "(function (exports, require, module, __filename, __dirname) { 'use strict'; const bundleUrl = require('node:url').pathToFileURL(__filename).href;",
    },
    footer: { js: '})' },
  })
}

function buildPackage(name) {
  const outfile = join(fresh, `${name}.js`)
  return build({ ...script, stdin: { contents: `module.exports = require('${name}')`, resolveDir: root }, outfile, plugins: [slim] })
}

/** The launcher, the commands that need little code, and a file for each part that is not started by the launcher. */
async function buildSmall() {
  const hashOf = (name) => createHash('sha256').update(readFileSync(join(fresh, name))).digest('hex')
  const hashes = Object.fromEntries(['program.js', 'reading.js'].map((name) => [name, hashOf(name)]))
  const define = { ...script.define, BUNDLE_HASHES: JSON.stringify(hashes), 'import.meta.dirname': '__dirname' }
  const cli = join(root, 'src/cli')
  const entry = (name) => ({ entryPoints: [join(cli, `${name}.ts`)] })
  await build({ ...script, ...entry('start'), outfile: join(fresh, 'tranched.js'), define })
  for (const [name, parts] of Object.entries(SMALL)) {
    const outfile = join(fresh, `${name}.js`)
    await build({ ...script, ...entry('main'), outfile, define, plugins: [slim, small(parts)], minifyWhitespace: true, minifySyntax: true })
  }
  for (const part of Object.keys(PARTS).filter((name) => name !== 'main')) {
    const contents = `module.exports = require('./load-program.ts').loadProgram('program.js', { keeps: false })['${part}']()`
    await build({ ...script, stdin: { contents, resolveDir: cli }, outfile: join(fresh, `${part}.js`), define })
  }
}

/**
 * The program in which a custom strategy's module runs: one file, because such a process may read nothing else of the
 * program.
 */
function buildRunner() {
  return build({
    ...common,
    entryPoints: { 'module-runner': join(root, 'src/strategies/custom/runner/module-runner.ts') },
    outdir: fresh,
    outExtension: { '.js': '.mjs' },
    format: 'esm',
  })
}

/** The browser code: small, because it may come through a slow tunnel, or be part of a file that is sent. */
function buildPage(name) {
  const client = join(root, 'src/ui', name, 'client')
  return build({
    entryPoints: [
      { in: join(client, 'main.tsx'), out: 'page' },
      { in: join(client, 'page.css'), out: 'page' },
    ],
    outdir: join(fresh, name),
    bundle: true,
    format: 'iife',
    platform: 'browser',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    minify: true,
    legalComments: 'none',
    metafile: true,
    absWorkingDir: root,
    logLevel: 'warning',
  })
}

/**
 * Makes the code caches: runs a daemon on a fake service until it has traded, and `status`, which keep what they compiled. The key
 * is a new one, because a wallet trades in one process of a machine. Without the cache, which needs the folder bench, a start
 * takes longer.
 */
async function warmUp() {
  if (!existsSync(join(root, 'bench'))) return
  const { startService } = await import('../bench/child.mjs')
  const { FIRST_JOB, layOutLive } = await import('../bench/live-config.mjs')
  const dir = mkdtempSync(join(tmpdir(), 'tranched-build-'))
  const { ready, stop } = await startService(join(root, 'bench/orders/lean-service.mjs'))
  try {
    const given = { ...ready, privateKey: `0x${randomBytes(32).toString('hex')}` }
    const config = layOutLive(given, { dir, strategies: { 'first-job': FIRST_JOB } })
    for (const words of [['run', '--for', '2s'], ['status']]) {
      const args = [join(out, 'tranched.js'), ...words, '--config', config]
      const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 2] })
      if (status !== 0) console.error(`build: no code cache, because a first ${words[0]} failed:\n${stdout}`)
    }
  } finally {
    await stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The new folder replaces the old one at once: no reader ever finds half of a build. */
function swap() {
  const old = `${out}.old-${process.pid}`
  for (let tries = 1; ; tries += 1) {
    try {
      if (existsSync(out)) renameSync(out, old)
      renameSync(fresh, out)
      break
    } catch (error) {
      // Another build swapped the folders at the same time.
      if (tries >= SWAP_TRIES) throw error
    } finally {
      rmSync(old, { recursive: true, force: true })
    }
  }
}

function report(program, page) {
  const sizeOf = ({ outputs }, file) =>
    Object.entries(outputs)
      .filter(([name]) => file.test(name))
      .map(([, { bytes }]) => bytes)
  const kilobytes = (sizes) => Math.round(sizes.reduce((sum, bytes) => sum + bytes, 0) / 1024)
  const files = sizeOf(program, /\.js$/)
  const took = Math.round(performance.now() - startedAt)
  console.error(
    `build: ${files.length} files, ${kilobytes(files)} KiB, and a page of ${kilobytes(sizeOf(page, /./))} KiB in ${took} ms -> ${out}`,
  )
}
