// The daemon's complete path: config and strategies from YAML, lock, journal with fdatasync, observers with a real log,
// real metrics and the page, the live adapters as `cli/compose` wires them. Only the calendar is replaced: a slot is
// due whenever a worker requests one. Slots due together are decided together, as in a tick.
import { openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createClock } from '../../src/system/clock.ts'
import { openHaltFile } from '../../src/control/halt-file.ts'
import { readSecretFile, readWalletKey } from '../../src/signing/keys/keystore.ts'
import { createLog } from '../../src/observe/log.ts'
import { createScrubber } from '../../src/system/scrubber.ts'
import { deriveJournalKey } from '../../src/signing/keys/journal-key.ts'
import { createKey } from '../../src/signing/keys/key.ts'
import { acquireLock } from '../../src/store/lock/state-lock.ts'
import { openPage, siteOf } from '../../src/cli/compose/page.ts'
import { compose } from '../../src/cli/compose/services.ts'
import { composeGuard, openState } from '../../src/cli/compose/state.ts'
import { openAnchors } from '../../src/cli/compose/wallets.ts'
import { openObserving } from '../../src/cli/compose/observing.ts'
import { createWatch } from '../../src/control/probes.ts'
import { settleIn } from '../../src/cli/process/v8-settings.ts'
import { loadSettings } from '../../src/config/settings/load-settings.ts'
import { loadStrategies } from '../../src/strategies/files/load-strategies.ts'
import { DEFAULT_POLICY } from '../../src/domain/policy.ts'
import { createFinalityWatch } from '../../src/engine/chain-comparison/finality-watch.ts'
import { readMarket } from '../../src/engine/read-market.ts'
import { takeSlot } from '../../src/engine/slot.ts'
import { executeIntent } from '../../src/venues/execute-intent.ts'
import { createPendingRequests } from '../../src/venues/manual/requests.ts'
import { layOutLive } from '../live-config.mjs'
import { POLL_MS_MIN, runWorkload, SELL_AMOUNT, SLIPPAGE_BPS } from './workload.mjs'

/**
 * The config's own maximum is 1,000 requests a second, a quarter of them submits: that would be the measured
 * bottleneck.
 */
const REQUESTS_PER_SECOND = 10_000
const SLOTS_BEGIN_SECONDS_AGO = 5 * 86_400

const { service, concurrency, warmup, orders, dir } = JSON.parse(process.argv[2])

function writeFiles() {
  // The sandbox's config also names its other service, which needs another wallet and plays no part here.
  const { aggregator: _unused, ...gaslessOnly } = service.config
  const named = Array.from({ length: concurrency }, (_, at) => [`${at + 100}`, strategyLines(at)])
  return layOutLive(
    { config: gaslessOnly, privateKey: service.privateKey },
    {
      dir,
      strategies: Object.fromEntries(named),
      more: { limits: { ...service.config.limits, perDay: { USDC: '1000000000' } } },
    },
  )
}

function strategyLines(index) {
  return [
    // Idempotency keys consist of the name and the slot: a run must not repeat those of the previous run.
    `name: bench-${process.pid}-${index + 1}`,
    'kind: dca',
    'schedule: { cron: "* * * * * *", missed: all, maxLateness: 7d }',
    'sell: USDC',
    'buy: WETH',
    `amount: "${SELL_AMOUNT / 1_000_000n}"`,
    `slippageBps: ${SLIPPAGE_BPS}`,
    'limits: { perDay: "100000000" }',
  ]
}

function loaded(result) {
  if (!result.ok) throw new Error(JSON.stringify(result.problems, undefined, 2))
  return result
}

/** The output of `tranched run` goes to this device through the same synchronous writes as to a file, after each turn. */
function nowhere() {
  const device = openSync('/dev/null', 'w')
  return { write: (line) => writeSync(device, line) }
}

/**
 * Handles the slots of all waiting workers, one tick after the other: one market read each, and a finality check when
 * due, as in the engine.
 */
function createTicks(context, strategies) {
  const next = strategies.map(
    ({ name }) => context.ports.journal.state.strategies.get(name).lastSlotSeconds + 1,
  )
  const { sell, buy } = strategies[0]
  const query = {
    tokens: [sell.token, buy.token],
    feeds: context.pricePath(sell.token, buy.token).map(({ feed }) => feed),
  }
  const fail = (error) => {
    throw error
  }
  const onReopened = (id) => fail(new Error(`${id} is open again`))
  const finality = createFinalityWatch({ context, onReopened, onFailure: fail })
  let waiting = []
  let running = false

  async function tick() {
    const due = waiting
    waiting = []
    finality.readDue()
    const view = await readMarket(context, query)
    if (view === undefined) throw new Error('the market could not be read')
    const nowMs = context.ports.clock.now()
    await Promise.all(
      due.map(async ({ worker, resolve }) => {
        const slot = { strategy: strategies[worker], slotSeconds: next[worker]++ }
        resolve(await takeSlot({ context, ...slot, view, nowMs }))
      }),
    )
  }
  async function run() {
    running = true
    while (waiting.length > 0) await tick()
    running = false
  }
  return (worker) =>
    new Promise((resolve, reject) => {
      waiting.push({ worker, resolve })
      if (!running) run().catch(reject)
    })
}

async function main() {
  const { settings: written } = loaded(loadSettings({ file: writeFiles(), env: {} }))
  const settings = {
    ...written,
    gasless: { ...written.gasless, requestsPerSecond: REQUESTS_PER_SECOND },
  }
  const { strategies } = loaded(loadStrategies({ dir: settings.strategiesDir, settings }))
  const holder = { pid: process.pid, command: 'bench', startedAtMs: Date.now() }
  const lock = await acquireLock(settings.stateDir, holder)
  const scrubber = createScrubber()
  const log = await createLog({ ...settings.log, destination: nowhere(), scrubber, later: setImmediate })
  const key = loaded(
    await readWalletKey(settings.wallets.get('trader'), { readFile: readSecretFile, env: {} }),
  )
  scrubber.addKey(key.key)
  const journalKey = deriveJournalKey(key.key)
  const trader = createKey(key.key)
  const clock = createClock()
  const watch = createWatch(clock, () => performance.now())
  const page = openPage(settings, { strategies, clock, log, scrubber })
  const surprises = new Map()
  const count = ({ type }) => {
    if (SURPRISES.includes(type)) surprises.set(type, (surprises.get(type) ?? 0) + 1)
  }
  const first = {
    observe(event) {
      watch.saw(event)
      page.observe(event)
      count(event)
    },
    recorded(entry) {
      watch.recorded(entry.event)
      page.recorded(entry)
      count(entry.event)
      if (entry.event.type === 'intent-closed') count({ type: entry.event.outcome })
    },
  }
  const observing = await openObserving(settings, {
    ...{ log, scrubber, clock, first },
    mayWrite: () => lock.lostLately() === undefined,
    ailments: () => watch.probes.health().reasons,
  })
  observing.registerStrategies(strategies)
  const { observe, recorded } = observing
  const wallets = { trader: trader.address, operator: undefined }
  const anchors = await openAnchors(settings, wallets, clock)
  const opened = await openState(settings.mode, {
    dir: settings.stateDir,
    lock,
    anchors,
    clock,
    key: journalKey,
    recorded,
    observe,
    onFatal: (error) => {
      throw error
    },
  })
  const { journal } = opened
  await anchors.keep(journal)
  page.begin({
    waits: () => new Map(),
    state: journal.state,
    wallets: new Map([['trader', trader.address]]),
    ready: watch.probes.ready,
  })
  const server = await observing.serve(watch.probes, await siteOf(page))
  const policy = { ...DEFAULT_POLICY, pollMsMin: POLL_MS_MIN, backoffMsMin: 5 }
  const haltFile = openHaltFile(settings.stateDir)
  const guard = composeGuard(haltFile.blocked, lock.lostLately, () => anchors.lost())
  const ports = { clock, journal, guard, haltFile, trader, observe }
  const modules = { versionOf: () => undefined }
  const composed = await compose({ settings, strategies, policy, modules, ...ports })
  const closing = new AbortController()
  const { signal } = closing
  const nothing = () => undefined
  const wallet = { missing: nothing, upTo: nothing }
  const own = { requests: createPendingRequests(signal), tokenFault: nothing, compared: { trader: wallet, account: wallet }, market: { latest: undefined } }
  const context = { ...composed.context, ...own, closing: signal, stop: signal }
  await schedule(context, strategies)
  const slotOf = createTicks(context, strategies)
  settleIn()

  const one = async (worker) => {
    const { intents } = await slotOf(worker)
    for (const id of intents) await executeIntent(context, id)
  }
  const result = await runWorkload({ concurrency, warmup, orders, one })

  let fills = 0
  for (const record of journal.state.strategies.values()) fills += record.fills
  closing.abort()
  await opened.close()
  if (fills !== warmup + orders)
    throw new Error(`${fills} of ${warmup + orders} filled: ${JSON.stringify([...surprises])}`)
  const segments = join(settings.stateDir, 'journal')
  const names = readdirSync(segments).filter((name) => name.endsWith('.jsonl'))
  const lines = names.map((name) => readFileSync(join(segments, name), 'utf8').split('\n').length - 1)
  const records = lines.reduce((sum, each) => sum + each, 0)
  await server.close()
  await composed.close()
  await clock.close()
  lock.release()
  rmSync(dir, { recursive: true, force: true })
  const report = { warmup, ...result, records, surprises: Object.fromEntries(surprises) }
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

const SURPRISES = ['refused', 'failed', 'order-unknown', 'order-ended', 'proof-failed', 'retry', 'chain-trouble', 'clock-trouble']

/** The daemon's journal before its first tick, with slots that begin in the past, so that many are due. */
async function schedule(context, strategies) {
  const { chain, clock, journal, signer } = context.ports
  const identity = await chain.identity()
  if (!identity.ok) throw new Error(identity.fault.message)
  await journal.append({ type: 'bound', mode: 'live', ...identity.value, owner: signer.address })
  const fromSeconds = Math.floor(clock.now() / 1000) - SLOTS_BEGIN_SECONDS_AGO
  await journal.append(
    ...strategies.map(({ name, schedule: { cron, timezone } }) => ({
      type: 'strategy-scheduled',
      strategy: name,
      scheduleKey: `${cron} ${timezone}`,
      fromSeconds,
    })),
  )
}

await main()
