import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from 'viem'
import { expect, test } from 'vitest'
import type { SandboxReport } from '../../src/cli/json/author-outputs.ts'
import { type Running, run, start } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { adminCall, everySecond, nodeCall, writeStrategies } from './rehearsal.ts'

type Kept = {
  readonly dir: string
  readonly config: string
  readonly flags: readonly string[]
}

/** A folder for a rehearsal whose sandbox is kept. */
function folder(): Kept {
  const dir = temporaryDirectory()
  writeStrategies(join(dir, 'strategies'), everySecond('buy-weth'))
  const config = join(dir, 'live.yaml')
  const directories = [
    '--state-dir',
    join(dir, 'state'),
    '--strategies-dir',
    join(dir, 'strategies'),
  ]
  return { dir, config, flags: ['sandbox', '--config-out', config, '--keep', ...directories] }
}

async function up({ flags }: Kept): Promise<{ running: Running; report: SandboxReport }> {
  const running = start([...flags, '--json'])
  await running.sees(/\n}\n/)
  return { running, report: JSON.parse(running.output()) }
}

async function genesisOf({ rpcUrl, sepoliaRpcUrl }: SandboxReport): Promise<readonly Hex[]> {
  const hashes = [rpcUrl, sepoliaRpcUrl].map((url) =>
    nodeCall<{ hash: Hex }>({ rpcUrl: url }, 'eth_getBlockByNumber', ['0x0', false]),
  )
  return (await Promise.all(hashes)).map(({ hash }) => hash)
}

type Slot = { readonly outcome: string }

async function filledIn({ config }: Kept): Promise<number> {
  const { stdout } = await run(['history', '--json', '--limit', '1000', '--config', config])
  const slots: readonly Slot[] = JSON.parse(stdout).slots ?? JSON.parse(stdout)
  return slots.filter(({ outcome }) => outcome === 'filled').length
}

const daemonOf = ({ config }: Kept): Running =>
  start(['run', '--config', config, '--http-port', '0', '--for', '40s'])

test('a daemon goes on with its journal after a sandbox restart: same chains, addresses, keys and config', async () => {
  const kept = folder()
  const first = await up(kept)
  expect([first.report.keptIn, first.report.isResumed]).toEqual([join(kept.dir, 'chain'), false])
  const genesis = await genesisOf(first.report)
  const files = ['live.yaml', 'trader.key', 'operator.key'].map((name) => join(kept.dir, name))
  const written = files.map((file) => readFileSync(file, 'utf8'))
  const before = daemonOf(kept)
  await before.sees(/filled buy-weth[\s\S]*filled buy-weth/)
  expect((await before.stop()).code).toBe(0)
  const fills = await filledIn(kept)
  // All other changes to the config belong to the operator.
  const edited = `# mine\n${readFileSync(kept.config, 'utf8').replace('level: info', 'level: debug')}`
  writeFileSync(kept.config, edited)
  expect((await first.running.stop()).code).toBe(0)

  const { report, running } = await up(kept)
  expect(report).toEqual({ ...first.report, isResumed: true })
  expect(await genesisOf(report)).toEqual(genesis)
  expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual([edited, ...written.slice(1)])
  const after = daemonOf(kept)
  await after.sees(/filled buy-weth/)
  expect((await after.stop()).code).toBe(0)
  expect(await filledIn(kept)).toBeGreaterThan(fills)
  const orders = await adminCall<readonly { status: string }[]>(report, 'GET', '/orders')
  expect(orders.filter(({ status }) => status === 'filled')).toHaveLength(await filledIn(kept))
  expect((await running.stop()).code).toBe(0)
})

test('a sandbox killed at any moment starts again on the same chains', async () => {
  const kept = folder()
  let genesis: readonly Hex[] | undefined
  for (const afterMs of [0, 150, 700, 1_250]) {
    const { running, report } = await up(kept)
    genesis ??= await genesisOf(report)
    expect(await genesisOf(report)).toEqual(genesis)
    await sleep(afterMs)
    await running.killHard()
  }
  const { running, report } = await up(kept)
  expect(await genesisOf(report)).toEqual(genesis)
  expect((await running.stop()).code).toBe(0)
  const left = readdirSync(join(kept.dir, 'chain')).map((name) => name.replace(/-[0-9a-f]{16}/, ''))
  expect(left.sort()).toEqual(['aggregator.json.gz', 'base.json.gz', 'kept.json'])
})

test('a sandbox stopped during its start ends with 0, and its kept state starts again', async () => {
  const kept = folder()
  const first = start(kept.flags)
  // The lock is taken at the very beginning, long before anything listens.
  await waitFor('a lock', () => existsSync(join(kept.dir, 'chain/lock')))
  expect((await first.stop()).code).toBe(0)
  const { running, report } = await up(kept)
  expect(report.isResumed).toBe(true)
  expect((await running.stop()).code).toBe(0)
})

test('kept state is not replaced without a flag, and each refusal names the file and the remedy', async () => {
  const kept = folder()
  const { running } = await up(kept)
  const second = await run(kept.flags)
  expect([second.code, second.stderr]).toEqual([75, expect.stringContaining('chain/lock: held by')])
  expect((await running.stop()).code).toBe(0)
  const kjson = join(kept.dir, 'chain/kept.json')
  const key = readFileSync(join(kept.dir, 'trader.key'), 'utf8')

  const other = await run([...kept.flags, '--aggregator-gas-tank', 'balanceOf', '--for', '1ms'])
  expect([other.code, other.stdout]).toEqual([1, ''])
  expect(other.stderr).toContain(`${kjson} is a sandbox made with aggregator.gasTank balances`)
  expect(other.stderr).toMatch(/leave that setting as it was, .*--keep, or --force/)

  writeFileSync(join(kept.dir, 'trader.key'), `0x${'11'.repeat(32)}\n`)
  const foreign = await run([...kept.flags, '--for', '1ms'])
  expect([foreign.code, foreign.stdout]).toEqual([1, ''])
  expect(foreign.stderr).toContain(`${join(kept.dir, 'trader.key')} holds another key`)
  writeFileSync(join(kept.dir, 'trader.key'), key)

  writeFileSync(kept.config, readFileSync(kept.config, 'utf8').replace(/(baseUrl: .*:)\d+/, '$19'))
  const elsewhere = await run([...kept.flags, '--for', '1ms'])
  expect([elsewhere.code, elsewhere.stdout]).toEqual([1, ''])
  expect(elsewhere.stderr).toContain(
    `${kept.config} is not the config of this sandbox (gasless.baseUrl`,
  )

  const anew = await run([...kept.flags, '--force', '--for', '1ms'])
  expect([anew.code, anew.stderr]).toEqual([0, ''])
  expect(anew.stdout).toMatch(/It is kept in .*chain: the same command resumes it\.\n$/)
  expect(readFileSync(join(kept.dir, 'trader.key'), 'utf8')).not.toBe(key)
})

test('run --for against a stopped sandbox ends with 1 and names the failed read', async () => {
  const { dir, config, flags } = folder()
  const written = await run([...flags.filter((flag) => flag !== '--keep'), '--for', '1ms'])
  expect([written.code, written.stderr]).toEqual([0, ''])
  const { code, stdout, stderr } = await run(
    ['run', '--config', config, '--http-port', '0', '--for', '2s'],
    { cwd: dir },
  )
  expect(code).toBe(1)
  expect(stdout + stderr).toMatch(
    /ended before the run started: no node of chain base could be read/,
  )
  expect(stdout + stderr).toContain(`Start the nodes in chains.base.rpcUrls of ${config}`)
  // An operator who stops it knows that it ends early, and `pm2 stop` is no failure.
  const waiting = start(['run', '--config', config, '--http-port', '0'])
  await waiting.sees(/chain failure/)
  expect((await waiting.stop()).code).toBe(0)
  expect(existsSync(join(dir, 'chain'))).toBe(false)
})
