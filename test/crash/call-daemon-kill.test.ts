import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { writeSandboxConfig } from '../../src/sandbox/config-files.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { all } from '../e2e/audit.ts'
import { LEASH, writeStrategies } from '../e2e/rehearsal.ts'
import { delegatedAccount, ETHER, QUIET } from '../support/aggregator/aggregator.ts'
import { callsSeen, nestedNonceOf } from '../support/aggregator/call-venue.ts'
import { type Running, start } from '../support/process/cli.ts'
import { killAt, type Moment, markJournal, untilJournaled } from '../support/process/kill.ts'
import { eventsOf, temporaryDirectory } from '../support/state/state-directory.ts'

/** Kill points along a call's life: decided, before and after the signature is sent, in flight, proven. */
const MOMENTS: readonly Moment[] = [
  { after: 'slot-opened', delayMsMax: 0 },
  { after: 'call-recorded', delayMsMax: 0 },
  { after: 'order-accepted', delayMsMax: 0 },
  { after: 'call-proven', delayMsMax: 0 },
  { after: 'slot-opened', delayMsMax: 30 },
  { after: 'call-recorded', delayMsMax: 6 },
  { after: 'call-recorded', delayMsMax: 60 },
  { after: 'order-accepted', delayMsMax: 900 },
  { after: 'start', delayMsMax: 800 },
  { after: 'slot-opened', delayMsMax: 2_500 },
]
const SEED = 13
const CALLS_AT_LAST = 5

/** Some calls are late, some are included twice, some answers are lost. */
const FAULTS = {
  seed: SEED,
  rules: [
    { kind: 'lateInclusion', delayMs: 1_200, probability: 0.3 },
    { kind: 'includedTwice', probability: 0.2 },
    { kind: 'dropAfter', route: 'sendRawTransaction', probability: 0.1 },
  ],
}

test('a daemon killed ten times during its calls loses none and repeats none', async () => {
  const dir = temporaryDirectory()
  const strategiesDir = join(dir, 'strategies')
  const stateDir = join(dir, 'state')
  const config = join(dir, 'config/live.yaml')
  const sandbox = await startSandbox({ aggregator: QUIET, market: { feedInterval: 0 } })
  onTestFinished(() => sandbox.stop())
  const { address, privateKey } = sandbox.operator
  await delegatedAccount(sandbox, 'trustless', { key: privateKey, coin: 0n, deposit: ETHER })
  await writeSandboxConfig({ sandbox, file: config, stateDir, strategiesDir })
  fallBackSoon(config)
  writeStrategies(strategiesDir, {
    'claim-often': {
      name: 'claim-often',
      kind: 'call',
      schedule: { cron: '*/2 * * * * *', missed: 'all', maxLateness: '10m' },
      to: sandbox.sepolia.contracts.demoTarget,
      function: 'claim(address)',
      args: [address],
      gasLimit: 120_000,
      // Calls pile up on a busy machine; none may be skipped for that.
      limits: { maxOpenIntents: 100 },
    },
  })
  sandbox.faults.set(FAULTS)

  const daemon = (): Running => start(['run', '--config', config, '--http-port', '0', ...LEASH])
  await killAt(MOMENTS, { seed: SEED, stateDir, start: daemon })
  sandbox.faults.set({})
  const mark = markJournal(stateDir)
  const last = daemon()
  await untilJournaled(mark, 'call-proven', CALLS_AT_LAST)
  expect((await last.stop()).code).toBe(0)

  const view = await readJournal(stateDir)
  const events = await eventsOf(view)
  const owner = address.toLowerCase()
  const executed = (await callsSeen(sandbox)).filter(({ caller }) => caller === owner)
  const proven = all(events, 'call-proven').map(({ execution }) => execution.txHash)
  expect(proven.length).toBeGreaterThanOrEqual(CALLS_AT_LAST)
  expect(proven.toSorted()).toEqual(executed.map(({ txHash }) => txHash).toSorted())
  expect(new Set(proven).size).toBe(proven.length)
  expect(await nestedNonceOf(sandbox, address)).toBe(BigInt(executed.length))
  // Every opened slot was executed, or left unsigned by the last daemon for the next.
  const open = [...view.state.intents.values()]
  expect(open.map(({ state }) => state)).toEqual(open.map(() => 'planned'))
  expect(all(events, 'slot-opened')).toHaveLength(executed.length + open.length)
  expect(all(events, 'slot-closed').filter(({ outcome }) => outcome !== 'filled')).toEqual([])
})

/** Sets the shortest deadline that a config allows. */
function fallBackSoon(config: string): void {
  const settings = parse(readFileSync(config, 'utf8'))
  settings.aggregator.fallback = { mode: 'after-deadline', deadline: '10s' }
  writeFileSync(config, stringify(settings))
}
