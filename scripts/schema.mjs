// Writes the files generated from the zod schemas: config/schema/*.json for editors, and the tables of docs/config.md,
// docs/strategies.md, docs/outcomes.md, docs/sandbox.md, docs/notifications.md and docs/json.md. `--check` compares
// instead, exit 1 on a difference.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const work = mkdtempSync('node_modules/.schema-')
try {
  await build({
    entryPoints: ['json-schema', 'strategy-tables', 'config-tables', 'sandbox-table', 'event-table', 'reason-tables', 'output-tables'].map((name) => `scripts/schema/${name}.ts`),
    outdir: work,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  })
  const load = (name) => import(pathToFileURL(join(work, name)).href)
  const { jsonSchemas } = await load('json-schema.mjs')
  const { strategyTables, withTables } = await load('strategy-tables.mjs')
  const { configTables } = await load('config-tables.mjs')
  const { reasonTables } = await load('reason-tables.mjs')
  const { sandboxTable } = await load('sandbox-table.mjs')
  const { eventTable } = await load('event-table.mjs')
  const { outputTables } = await load('output-tables.mjs')
  const files = Object.entries(jsonSchemas()).map(([name, schema]) => [
    `config/schema/${name}`,
    `${JSON.stringify(schema, null, 2)}\n`,
  ])
  const references = {
    'docs/strategies.md': strategyTables(),
    'docs/config.md': configTables(),
    'docs/outcomes.md': reasonTables(),
    'docs/sandbox.md': { settings: sandboxTable() },
    'docs/notifications.md': { events: eventTable() },
    'docs/json.md': outputTables(),
  }
  for (const [file, tables] of Object.entries(references))
    files.push([file, withTables(readFileSync(file, 'utf8'), tables)])
  let stale = 0
  for (const [file, text] of files) {
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
