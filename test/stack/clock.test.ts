import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROGRAM } from '../support/process/cli.ts'
import {
  type Running,
  sample,
  startProcess,
  temporaryDirectory,
} from '../support/process/programs.ts'
import { waitFor } from '../support/wait-for.ts'

const DAY = 86_400
const LIBRARIES = ['x86_64', 'aarch64'].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`,
)

/**
 * A slot each second, so that any clock step hits one. Only a step makes a slot late: no machine falls ten minutes
 * behind.
 */
const STRATEGIES = {
  'buy-weth': `
name: buy-weth
kind: dca
schedule: { cron: "* * * * * *", missed: latest, maxLateness: 10m }
sell: USDC
buy: WETH
amount: "25"
limits: { perDay: "4000000", maxOpenIntents: 5 }
`,
  'buy-dai': `
name: buy-dai
kind: dca
schedule: { cron: "*/5 * * * * *", missed: all, maxLateness: 3d }
sell: USDC
buy: DAI
amount: "1"
limits: { perDay: "4000000", maxOpenIntents: 5 }
`,
}

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let sandbox: Running
let daemon: Running
let address: string

/**
 * The built program in live mode with its own wall clock, beside a sandbox whose clock is right. One daemon lives through
 * all of it, as a machine's would: the last test ends it.
 */
beforeAll(async () => {
  directory = await temporaryDirectory()
  const library = LIBRARIES.find((file) => existsSync(file))
  if (library === undefined)
    throw new Error(
      'libfaketime is missing: install the Debian package faketime, or run .ci/run, which sees to it',
    )
  const config = join(directory.path, 'live.yaml')
  const strategies = join(directory.path, 'strategies')
  await mkdir(strategies)
  for (const [name, text] of Object.entries(STRATEGIES))
    await writeFile(join(strategies, `${name}.yaml`), text)
  const directories = ['--state-dir', join(directory.path, 'state'), '--strategies-dir', strategies]
  sandbox = startProcess(process.execPath, [
    PROGRAM,
    'sandbox',
    '--config-out',
    config,
    ...directories,
  ])
  await waitFor('the sandbox config', () => readFile(config, 'utf8'))
  const text = await readFile(config, 'utf8')
  await writeFile(config, text.replace(/port: \d+/, 'port: 0'))
  await setClock(0)
  daemon = startProcess(process.execPath, [PROGRAM, 'run', '--config', config], {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: join(directory.path, 'offset'),
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  })
  address = await waitFor(
    'the address',
    () => /page at (http:[^"\s]+)\//.exec(daemon.output())?.[1],
  )
  await fills(3)
})

afterAll(async () => {
  await Promise.all([daemon?.stop(), sandbox?.stop()])
  await directory?.remove()
})

/** Sets the daemon's wall clock, in seconds ahead of the right time. */
async function setClock(aheadSeconds: number): Promise<void> {
  const file = join(directory.path, 'offset')
  await writeFile(`${file}.new`, `${aheadSeconds < 0 ? '' : '+'}${aheadSeconds}`)
  await rename(`${file}.new`, file)
}

async function ask(path: string): Promise<Response> {
  return fetch(`${address}${path}`, { signal: AbortSignal.timeout(60_000) })
}

/** Waits for this many more fills. */
async function fills(more: number): Promise<void> {
  const filled = async (): Promise<number> => {
    const metrics = await (await ask('/metrics')).text()
    return sample(metrics, 'tranched_fills_total{strategy="buy-weth",venue="gasless"}') ?? 0
  }
  let before: number | undefined
  await waitFor(`${more} more fills`, async () => {
    const now = await filled()
    before ??= now
    return now - before >= more
  }).catch((error) => {
    throw new Error(`daemon output: ${daemon.output().slice(-4_000)}`, { cause: error })
  })
}

async function isAlive(): Promise<void> {
  await waitFor('an answer of /healthz', async () => (await ask('/healthz')).ok)
}

test.each([
  ['a day ahead', DAY],
  ['a week ahead', 7 * DAY],
  ['ten years ahead', 3_652 * DAY],
  ['25 hours back', -90_000],
])(
  'a wall clock that is set %s hangs nothing, and orders resume once it is right',
  async (_what, seconds) => {
    await setClock(seconds)
    await sleep(3_000)
    await isAlive()
    await setClock(0)
    await fills(3)
    // A record made just before the step is withdrawn unsigned, and its order is signed once the clock is right.
    const lines = daemon.output().split('\n')
    const ended = lines.filter((line) => !line.includes('"event":"authorization-withdrawn"'))
    expect(ended.filter((line) => line.includes('too-late'))).toEqual([])
  },
)

test('a daemon that was suspended for a while goes on', async () => {
  process.kill(daemon.pid, 'SIGSTOP')
  await sleep(8_000)
  process.kill(daemon.pid, 'SIGCONT')
  await isAlive()
  await fills(3)
})

test('a daemon whose wall clock is ten years ahead stops on request', async () => {
  await setClock(3_652 * DAY)
  await sleep(2_000)
  expect(await daemon.stop()).toBe(0)
})
