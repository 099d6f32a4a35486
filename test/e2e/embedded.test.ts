import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, type Running, run, start } from '../support/process/cli.ts'
import { descendantsOf, untilGone } from '../support/process/kill.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { exposedFiles, mentionsKey } from './audit.ts'
import { EXAMPLES, examples, LEASH, metricsOf, writeStrategies } from './rehearsal.ts'

type Embedded = { readonly dir: string; readonly stateDir: string; readonly daemon: Running }

/** `tranched run` on its shipped sandbox config, with the shipped strategies on a faster schedule. */
function startEmbedded(...more: readonly string[]): Embedded {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'config'))
  copyFileSync(join(ROOT, 'config/sandbox.yaml'), join(dir, 'config/sandbox.yaml'))
  const call = readFileSync(join(ROOT, 'strategies/sandbox/call.yaml'), 'utf8')
  const files = {
    ...examples('* * * * * *'),
    call: call.replace(/cron: "[^"]+"/, 'cron: "*/2 * * * * *"'),
  }
  writeStrategies(join(dir, 'strategies/sandbox'), files)
  const daemon = start(['run', '--http-port', '0', ...LEASH, ...more], { cwd: dir })
  return { dir, stateDir: join(dir, 'data/sandbox'), daemon }
}

/** The local chain's processes, found as children of this daemon: others on the machine have their own. */
async function evmOf(daemon: Running): Promise<readonly number[]> {
  await daemon.sees(/metrics at/)
  const pids = descendantsOf(daemon.pid)
  const commands = pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  expect(commands.some((command) => /anvil\0.*--chain-id\0/.test(command))).toBe(true)
  return pids
}

/** Fills of every venue, and the dashboard's figures of the account that pays for calls. */
async function untilFilled(daemon: Running): Promise<void> {
  const least: readonly (readonly [name: RegExp, value: number])[] = [
    [/^tranched_fills_total.*venue="gasless"/, 0],
    [/^tranched_fills_total.*venue="aggregated"/, 0],
    [/^tranched_gastank_available_ether\{account="operator"\}/, 0.04],
    [/^tranched_wallet_balance\{wallet="operator",token="ETH"\}/, 99],
    [/^tranched_ratelimit_remaining\{service="aggregator",route="sendRawTransaction"\}/, 0],
  ]
  for (const [name, value] of least)
    await waitFor(`${name} above ${value}`, async () =>
      [...(await metricsOf(daemon))].some((sample) => name.test(sample[0]) && sample[1] > value),
    )
}

test('a bare run prints its plan, fills orders of both venues, and leaves no local chain behind', async () => {
  const { stateDir, daemon } = startEmbedded()
  const evm = await evmOf(daemon)
  await daemon.sees(/state in .*data\/sandbox/)
  await daemon.sees(/gasless service http:\/\/127\.0\.0\.1:\d+, chain base/)
  for (const name of EXAMPLES)
    await daemon.sees(
      new RegExp(`strategy ${name}: dca .*next \\d{4}-.*\\((in \\d+s|due \\d+s ago)\\)`),
    )
  await untilFilled(daemon)
  await daemon.sees(/filled [a-z-]+: [\d.]+ [A-Z]+ -> [\d.]+ [A-Z]+ in/)
  await daemon.sees(/executed call: record\(bytes32\) \(aggregated\) in .*charged [\d.]+ ETH/)

  const { code, stdout } = await daemon.stop()
  expect(code).toBe(0)
  await untilGone(evm)

  const key = readFileSync(join(stateDir, 'trader.key'), 'utf8').trim()
  const files = ['journal/000000000001.jsonl', 'state.json', 'sandbox.json']
  const texts = [stdout, ...files.map(readState)]
  function readState(name: string): string {
    return readFileSync(join(stateDir, name), 'utf8')
  }
  expect(texts.filter((text) => mentionsKey(text, key))).toEqual([])
  expect(exposedFiles(stateDir)).toEqual([])
})

test('a bare run stops by itself after --for, and stops its local chain', async () => {
  const { daemon } = startEmbedded('--for', '10s')
  const evm = await evmOf(daemon)
  const { code, stdout } = await daemon.ended()
  expect(code).toBe(0)
  expect(stdout).toMatch(/stopping \(--for 10s\)/)
  await untilGone(evm)
})

test('a killed daemon takes its local chain with it, and the next start begins anew at once', async () => {
  const { dir, daemon } = startEmbedded()
  const evm = await evmOf(daemon)
  await daemon.sees(/opened buy-weth/)
  await daemon.killHard()
  await untilGone(evm)
  const planned = await run(['plan', 'buy-weth'], { cwd: dir })
  expect(planned.stdout).toContain('no sandbox runs here; `tranched run` starts one')

  const again = start(['run', '--http-port', '0', ...LEASH], { cwd: dir })
  await again.sees(/a new sandbox: .* the files of the last run are in .*data\/sandbox\/previous/)
  await again.sees(/in another terminal: node \S+tranched\.js status; node /)
  expect((await again.stop()).code).toBe(0)
})

test('a terminal interrupt of the whole process group lets orders in flight finish', async () => {
  const { daemon } = startEmbedded()
  await daemon.sees(/placed buy-weth/)
  process.kill(-daemon.pid, 'SIGINT')
  const { code, stdout } = await daemon.ended()
  expect(code).toBe(0)
  expect(stdout).toMatch(/stopping \(SIGINT\)/)
  expect(stdout).toMatch(/filled buy-weth/)
})
