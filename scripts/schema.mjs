// Writes config/schema/*.json from the zod schemas. `--check` compares instead, exit 1 on a difference.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const target = 'config/schema'
const work = mkdtempSync('node_modules/.schema-')
try {
  const outfile = join(work, 'json-schema.mjs')
  await build({
    entryPoints: ['src/config/json-schema.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  })
  const { jsonSchemas } = await import(pathToFileURL(outfile).href)
  let stale = 0
  for (const [name, schema] of Object.entries(jsonSchemas())) {
    const file = join(target, name)
    const text = `${JSON.stringify(schema, null, 2)}\n`
    if (!process.argv.includes('--check')) writeFileSync(file, text)
    else if (readFileSync(file, 'utf8') !== text) {
      console.error(`${file} is not what the schemas say: run npm run schema`)
      stale = 1
    }
  }
  process.exitCode = stale
} finally {
  rmSync(work, { recursive: true })
}
