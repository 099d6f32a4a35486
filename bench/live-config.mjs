import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A strategy that makes up its last slot after a pause, so that the first tick has a job at once. */
export const FIRST_JOB = [
  'name: first-job',
  'kind: dca',
  'schedule: { cron: "* * * * * *", missed: latest, maxLateness: 1h }',
  'sell: USDC',
  'buy: WETH',
  'amount: "10"',
  'limits: { perDay: "1000000" }',
]

/**
 * Creates a directory for `tranched run` in mode live against a service of the benchmarks: key, strategy files (name to
 * lines) and config, with `more` overriding parts of it. Returns the config's file.
 */
export function layOutLive({ config, privateKey }, { dir, strategies, more = {} }) {
  rmSync(dir, { recursive: true, force: true })
  const strategiesDir = join(dir, 'strategies')
  mkdirSync(strategiesDir, { recursive: true })
  const privateKeyFile = join(dir, 'trader.key')
  writeFileSync(privateKeyFile, `${privateKey}\n`, { mode: 0o600 })
  for (const [name, lines] of Object.entries(strategies))
    writeFileSync(join(strategiesDir, `${name}.yaml`), `${lines.join('\n')}\n`)
  const complete = {
    ...config,
    mode: 'live',
    stateDir: join(dir, 'state'),
    strategiesDir,
    http: { host: '127.0.0.1', port: 0 },
    log: { level: 'info', format: 'json' },
    wallets: { trader: { privateKeyFile } },
    ...more,
  }
  const file = join(dir, 'config.yaml')
  writeFileSync(file, JSON.stringify(complete, undefined, 2))
  return file
}
