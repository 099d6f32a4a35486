// Bundles src/cli/start.ts into dist/tranched.js with one chunk for each lazily loaded part, so that a command loads
// only the code that it uses. `--entry FILE --out DIR` builds another program the same way.
import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { commitOf } from './commit.mjs'

const SWAP_TRIES = 5
const root = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: {
    entry: { type: 'string', default: join(root, 'src/cli/start.ts') },
    out: { type: 'string', default: join(root, 'dist') },
  },
})
const entry = resolve(values.entry)
const program = join(root, 'src/cli/start.ts')
const out = resolve(values.out)
if (!existsSync(entry)) {
  console.error(`build: no entry file ${entry}`)
  process.exit(1)
}

/**
 * undici's index also loads its fetch, WebSocket, mock and cache: 600 KiB and 25 ms of every start. These are the parts
 * in use; any other part fails the build with its name.
 */
const undiciInUse = `
  import api from './lib/api/index.js'
  import Dispatcher from './lib/dispatcher/dispatcher.js'
  Object.assign(Dispatcher.prototype, api)
  export { Dispatcher }
  export { default as Pool } from './lib/dispatcher/pool.js'
  export { default as errors } from './lib/core/errors.js'
`
const slimUndici = {
  name: 'slim-undici',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]node_modules[\\/]undici[\\/]index\.js$/ }, () => ({
      contents: undiciInUse,
      loader: 'js',
    }))
  },
}

const WORKERS = ['sweep-worker', 'drift-worker'].map((name) => [name, join(root, `src/cli/${name}.ts`)])

const startedAt = performance.now()
const fresh = `${out}.new-${process.pid}`
try {
  const { metafile } = await build({
    // Worker threads run these parts of the program alone.
    entryPoints: {
      tranched: entry,
      ...(entry === program ? Object.fromEntries(WORKERS) : {}),
    },
    outdir: fresh,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    chunkNames: 'chunks/[name]-[hash]',
    sourcemap: true,
    sourcesContent: false,
    // Not minified: parsing costs a few ms more, and crash reports stay readable. Function names are kept where they
    // are unique; keeping all of them costs 15 ms of each start.
    minify: false,
    legalComments: 'none',
    metafile: true,
    define: { BUILT_FROM_COMMIT: JSON.stringify(commitOf(root) ?? '') },
    plugins: [slimUndici],
    absWorkingDir: root,
    // Native binaries cannot be bundled.
    external: ['secp256k1', '@foundry-rs/anvil-linux-amd64'],
    // Packages written for CommonJS call `require`, which an ES module does not have.
    banner: {
      js: "import{createRequire as bundleRequire}from'node:module';const require=bundleRequire(import.meta.url);",
    },
    logLevel: 'warning',
  })
  await buildRunner()
  const page = await buildPage('page')
  await buildPage('report')
  copyFileSync(join(root, 'src/ui/page/client/index.html'), join(fresh, 'page/index.html'))
  chmodSync(join(fresh, 'tranched.js'), 0o755)
  swap()
  report(metafile, page.metafile)
} finally {
  rmSync(fresh, { recursive: true, force: true })
}

/**
 * The program in which a custom strategy's module runs: one file, because such a process may read nothing else of the
 * program.
 */
function buildRunner() {
  return build({
    entryPoints: { 'module-runner': join(root, 'src/strategies/custom/runner/module-runner.ts') },
    outdir: fresh,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    legalComments: 'none',
    absWorkingDir: root,
    logLevel: 'warning',
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
    `build: ${files.length} files, ${kilobytes(files)} KiB, and a page of ${kilobytes(sizeOf(page, /./))} KiB in ${took} ms -> ${values.out === out ? out : values.out}`,
  )
}
