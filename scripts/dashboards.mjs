// Writes config/grafana/dashboards/*.json, which scripts/grafana declares. `--check` compares instead, exit 1 on a difference.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const OUT = 'config/grafana/dashboards'
const checks = process.argv.includes('--check')
const work = mkdtempSync('node_modules/.dashboards-')
try {
  const outfile = join(work, 'dashboards.mjs')
  await build({
    entryPoints: ['scripts/grafana/dashboards.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  const { dashboards } = await import(pathToFileURL(outfile).href)
  const files = Object.entries(dashboards())
  mkdirSync(OUT, { recursive: true })
  const named = new Set(files.map(([name]) => name))
  const left = readdirSync(OUT).filter((name) => !named.has(name))
  let stale = 0
  const reportStale = (name) => {
    console.error(`${join(OUT, name)} is not what scripts/grafana says: run npm run dashboards`)
    stale = 1
  }
  for (const [name, dashboard] of files) {
    const text = `${JSON.stringify(dashboard, null, 2)}\n`
    if (!checks) writeFileSync(join(OUT, name), text)
    else if (readFileSync(join(OUT, name), 'utf8') !== text) reportStale(name)
  }
  for (const name of left)
    if (checks) reportStale(name)
    else rmSync(join(OUT, name))
  process.exitCode = stale
} finally {
  rmSync(work, { recursive: true })
}
