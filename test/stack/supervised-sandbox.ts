import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { PROGRAM } from '../support/process/cli.ts'
import { sample, startProcess, temporaryDirectory } from '../support/process/programs.ts'
import { waitFor } from '../support/wait-for.ts'
import { createPm2, type Pm2 } from './pm2.ts'

/** Fills come this late, so that a stop hits an order under way. */
const FILL_DELAY_MS = 5_000

const STRATEGY = `
name: buy-weth
kind: dca
schedule: { cron: "*/2 * * * * *", missed: latest, maxLateness: 30s }
sell: USDC
buy: WETH
amount: "25"
limits: { perDay: "400000" }
`

/** A sandbox process and a live config for it, so that the daemon takes the live path. Removed after the test. */
export async function supervisedSandbox() {
  const directory = await temporaryDirectory()
  onTestFinished(() => directory.remove())
  const config = join(directory.path, 'live.yaml')
  const faults = join(directory.path, 'faults.json')
  const strategies = join(directory.path, 'strategies')
  const rule = { kind: 'lateFill', delayMs: FILL_DELAY_MS }
  await writeFile(faults, JSON.stringify({ rules: [rule] }))
  await mkdir(strategies)
  await writeFile(join(strategies, 'buy-weth.yaml'), STRATEGY)
  const directories = ['--state-dir', join(directory.path, 'state'), '--strategies-dir', strategies]
  const args = ['sandbox', '--config-out', config, '--faults', faults, ...directories]
  const sandbox = startProcess(process.execPath, [PROGRAM, ...args])
  onTestFinished(async () => {
    await sandbox.stop()
  })
  await waitFor('the sandbox config', () => readFile(config, 'utf8')).catch((error) => {
    throw new Error(`sandbox output: ${sandbox.output()}`, { cause: error })
  })
  const text = await readFile(config, 'utf8')
  // Any free port: the log names it.
  await writeFile(config, text.replace(/port: \d+/, 'port: 0'))
  return { path: directory.path, config, supervisor: supervisorIn(directory.path) }
}

function supervisorIn(path: string) {
  return (name: string): Pm2 => {
    const pm2 = createPm2(join(path, name))
    onTestFinished(() => pm2.kill())
    return pm2
  }
}

export async function logOf(pm2: Pm2): Promise<string> {
  const { outFile, errorFile } = await pm2.app()
  return (await readFile(outFile, 'utf8')) + (await readFile(errorFile, 'utf8'))
}

/** Metrics address of the daemon that started last. */
export async function metricsUrl(pm2: Pm2): Promise<string | undefined> {
  return (await logOf(pm2)).match(/http:\/\/127\.0\.0\.1:\d+\/metrics/g)?.at(-1)
}

async function metric(pm2: Pm2, series: string): Promise<number | undefined> {
  const url = await metricsUrl(pm2)
  return url === undefined ? undefined : sample(await (await fetch(url)).text(), series)
}

export function openPermit(pm2: Pm2): Promise<number> {
  return waitFor('an open permit', () => metric(pm2, 'tranched_open_permits'))
}
