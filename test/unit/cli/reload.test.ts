import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { createReloader } from '../../../src/cli/daemon/reload.ts'
import { loadForReading } from '../../../src/cli/load-files.ts'
import type { OperatorFiles } from '../../../src/engine/daemon.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { captureLog } from '../../support/capture-log.ts'
import { ROOT } from '../../support/process/cli.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const DROPPED = 'its unsigned orders are dropped'

/** A config and a strategy on disk, the daemon's reloader for them, and the files it passed to the loop. */
async function stage() {
  const dir = temporaryDirectory()
  const config = join(dir, 'live.yaml')
  const strategy = join(dir, 'strategies/weekly-eth.yaml')
  mkdirSync(join(dir, 'strategies'))
  writeFileSync(strategy, readFileSync(join(ROOT, 'strategies/weekly-eth.yaml'), 'utf8'))
  const written = parse(readFileSync(join(ROOT, 'config/live.example.yaml'), 'utf8'))
  const settings = { ...written, strategiesDir: './strategies' }
  writeFileSync(config, stringify(settings))
  const env = {
    BASE_RPC_URL: 'https://node.example/1',
    GASLESS_URL: 'https://swap.example',
    GASLESS_SPENDER: `0x${'5e'.repeat(20)}`,
  }
  const io = { env } as unknown as Parameters<typeof loadForReading>[1]
  const read = () => loadForReading({ config }, io)
  const loaded = read()
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join('\n'))
  const taken: OperatorFiles[] = []
  const inForce: OperatorFiles[] = []
  const observed: RuntimeEvent[] = []
  const { log } = await captureLog()
  const control = {
    fault: undefined as string | undefined,
    reload: async (files: OperatorFiles) => {
      if (control.fault !== undefined) throw new Error(control.fault)
      taken.push(files)
    },
  }
  const reloader = createReloader({
    settings: loaded.settings,
    strategies: loaded.strategies,
    modules: { retain: () => undefined, versionOf: () => '' },
    load: async () => read(),
    control,
    registerStrategies: () => undefined,
    taken: (files) => inForce.push(files),
    observe: (event) => observed.push(event),
    log,
    nowMs: () => 1_000,
  })
  return {
    reloader,
    control,
    taken,
    inForce,
    observed,
    editConfig: (change: (config: typeof settings) => void) => {
      const changed = structuredClone(settings)
      change(changed)
      writeFileSync(config, stringify(changed))
    },
    editStrategy: (from: string | RegExp, to: string) =>
      writeFileSync(strategy, readFileSync(strategy, 'utf8').replace(from, to)),
  }
}

test('new limits of the config apply together with the strategies', async () => {
  const { reloader, taken, editConfig, editStrategy } = await stage()
  editConfig((config) => {
    config.limits.perDay = { USDC: '77' }
  })
  editStrategy('amount: "25"', 'amount: "26"')
  const result = await reloader.reload()
  expect(result).toMatchObject({ ok: true, changes: [{ text: `amount 25 -> 26; ${DROPPED}` }] })
  expect(result).toMatchObject({
    limits: [expect.stringMatching(/^limits\.perDay\.USDC \S+ -> 77$/)],
  })
  expect(taken).toHaveLength(1)
  expect([...(taken[0]?.account.perDay.values() ?? [])]).toEqual([77_000_000n])
  expect(taken[0]?.strategies[0]).toMatchObject({ size: { amount: 26_000_000n } })
})

test('an edit that keeps the orders drops none, and a change by the config alone is reported', async () => {
  const { reloader, editConfig, editStrategy } = await stage()
  editStrategy('amount: "25"', 'amount: "25" # a comment')
  expect(await reloader.reload()).toMatchObject({ ok: true, changes: [] })
  editStrategy('maxLateness: 6h', 'maxLateness: 5h')
  const lateness = 'schedule.maxLateness 6h -> 5h'
  expect(await reloader.reload()).toMatchObject({ changes: [{ text: lateness }] })
  editConfig((config) => {
    config.limits.maxDeviationBps = '1'
  })
  const text = `config entries that it uses; ${DROPPED}`
  expect(await reloader.reload()).toMatchObject({ changes: [{ text }] })
  editStrategy('enabled: true', 'enabled: false')
  const off = expect.stringContaining(DROPPED)
  expect(await reloader.reload()).toMatchObject({ changes: [{ text: off }] })
})

test('any other config change rejects the whole reload by key, including changed strategies', async () => {
  const { reloader, taken, observed, editConfig, editStrategy } = await stage()
  editConfig((config) => {
    config.gasless.slippageBps = '60'
    config.chains.base.rpcUrls = ['https://other.example/secret-token']
    config.limits.perDay = { USDC: '77' }
  })
  editStrategy('amount: "25"', 'amount: "26"')
  const result = await reloader.reload()
  const detail = expect.stringMatching(
    /need a restart: chains\.base\.rpcUrls\.0, gasless\.slippageBps\. Restart.*old files stay in force, including those of 1 changed/,
  )
  expect(result).toEqual({ ok: false, detail })
  expect(JSON.stringify(result)).not.toContain('secret-token')
  expect(taken).toEqual([])
  expect(observed).toEqual([{ type: 'files-stale', files: 2, detail }])
  expect(reloader.stale()).toEqual({ sinceMs: 1_000, files: 2, detail })
  editConfig(() => undefined)
  expect(await reloader.reload()).toMatchObject({ ok: true, changes: [{}], limits: [] })
  expect(reloader.stale()).toBeUndefined()
  expect(observed.at(-1)).toMatchObject({ type: 'files-stale', files: 0 })
})

test('invalid files, and files that the loop rejects, stay reported until files are in force', async () => {
  const { reloader, control, taken, inForce, observed, editStrategy } = await stage()
  editStrategy('kind: dca', 'kind: dcb')
  expect(await reloader.reload()).toMatchObject({ ok: false })
  expect(observed.at(-1)).toMatchObject({ type: 'files-stale', files: 1 })
  editStrategy('kind: dcb', 'kind: dca')
  control.fault = 'the chain cannot be read now; try again'
  expect(await reloader.reload()).toEqual({ ok: false, detail: control.fault })
  expect(reloader.stale()).toMatchObject({ detail: control.fault })
  control.fault = undefined
  expect(inForce).toEqual([])
  editStrategy('enabled: true', 'enabled: false')
  expect(await reloader.reload()).toMatchObject({ ok: true })
  expect(taken).toHaveLength(1)
  // The files in force include disabled strategies.
  expect(inForce).toMatchObject([{ strategies: [{ name: 'weekly-eth', enabled: false }] }])
  expect(reloader.stale()).toBeUndefined()
})
