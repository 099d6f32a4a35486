import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Directory of bundles, state directories and profiles of the benchmarks: on the disk of the checkout, ignored by git.
 */
export const cacheDir = join(root, 'node_modules/.cache/tranched-bench')
mkdirSync(cacheDir, { recursive: true })

/** Bundles a benchmark program that uses `src/`, with the settings of `scripts/build.mjs`. Resolves to the file. */
export async function bundle(entry) {
  const outfile = join(cacheDir, basename(entry))
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    legalComments: 'none',
    absWorkingDir: root,
    external: ['secp256k1', '@foundry-rs/anvil-linux-amd64'],
    banner: {
      js: "import{createRequire as bundleRequire}from'node:module';const require=bundleRequire(import.meta.url);",
    },
    logLevel: 'warning',
  })
  return outfile
}
