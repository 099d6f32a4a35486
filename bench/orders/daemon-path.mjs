// The daemon's own path, whole: config and strategies from YAML, lock, journal with fdatasync, observers with a real
// log, real metrics and the page, the live adapters as `cli/compose` puts them together. Only the calendar is replaced: a
// slot is due whenever a worker asks for one. What is due together is attended together, as a tick does.
import { openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createClock } from '../../src/adapters/clock.ts'
import { openHaltFile } from '../../src/adapters/state/halt-file.ts'
import { readSecretFile, readWalletKey } from '../../src/adapters/keys/keystore.ts'
import { createLog } from '../../src/adapters/tell/log.ts'
import { createScrubber } from '../../src/adapters/tell/scrubber.ts'
import { deriveJournalKey } from '../../src/adapters/keys/journal-key.ts'
import { createKey } from '../../src/adapters/keys/key.ts'
import { acquireLock } from '../../src/adapters/state/state-lock.ts'
import { openAnchors } from '../../src/cli/compose/anchors.ts'
import { composeGuard } from '../../src/cli/compose/guard.ts'
import { openPage, siteOf } from '../../src/cli/compose/page.ts'
import { compose } from '../../src/cli/compose/services.ts'
import { openState } from '../../src/cli/compose/state.ts'
import { openTelling } from '../../src/cli/compose/telling.ts'
import { createWatch } from '../../src/cli/daemon/watch.ts'
import { keepHeapSmall, letHeapGrow } from '../../src/cli/heap.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import { loadStrategies } from '../../src/config/strategies/load.ts'
import { DEFAULT_POLICY } from '../../src/domain/policy.ts'
import { createFinalityWatch } from '../../src/engine/finality.ts'
import { takeSlot } from '../../src/engine/slot.ts'
import { executeIntent } from '../../src/execute/order.ts'
import { createAsked } from '../../src/execute/settle/asked.ts'
import { layOutLive } from '../live-config.mjs'
import { POLL_MS_MIN, runWorkload, SELL_AMOUNT, SLIPPAGE_BPS } from './workload.mjs'

/** The config's own ceiling is 1,000 requests a second, a quarter of them submits: it would be what is measured. */
const REQUESTS_PER_SECOND = 10_000
const SLOTS_BEGIN_SECONDS_AGO = 5 * 86_400

const { service, concurrency, warmup, orders, dir } = JSON.parse(process.argv[2])

function writeFiles() {
  // The sandbox's config also names its other service, which needs a wallet of its own and has no part in this.
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
    // Idempotency keys are made of the name and the slot: a run must not repeat those of the run before.
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

/** What `tranched run` prints goes to this device through the same synchronous writes as to a file. */
function nowhere() {
  const device = openSync('/dev/null', 'w')
  return { write: (line) => writeSync(device, line) }
}

/**
 * Attends the slots of all workers that wait, one tick after the other: one market read each, and a look at what is not
 * final where one is due, as the engine does.
 */
function createTicks(context, strategies) {
  const next = strategies.map(
    ({ name }) => context.ports.journal.state.strategies.get(name).lastSlotSeconds + 1,
  )
  const { sell, buy } = strategies[0]
  const query = {
    owner: context.ports.signer.address,
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
    finality.attend()
    const view = await context.ports.chain.view(query)
    if (!view.ok) throw new Error(view.fault.message)
    const nowMs = context.ports.clock.now()
    await Promise.all(
      due.map(async ({ worker, resolve }) => {
        const slot = { strategy: strategies[worker], slotSeconds: next[worker]++ }
        resolve(await takeSlot({ context, ...slot, view: view.value, nowMs }))
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
  keepHeapSmall()
  const { settings: written } = loaded(loadSettings({ file: writeFiles(), env: {} }))
  const settings = {
    ...written,
    gasless: { ...written.gasless, requestsPerSecond: REQUESTS_PER_SECOND },
  }
  const { strategies } = loaded(loadStrategies({ dir: settings.strategiesDir, settings }))
  const holder = { pid: process.pid, command: 'bench', startedAtMs: Date.now() }
  const lock = await acquireLock(settings.stateDir, holder)
  const scrubber = createScrubber()
  const log = await createLog({ ...settings.log, destination: nowhere(), scrubber })
  const key = loaded(
    await readWalletKey(settings.wallets.get('trader'), { readFile: readSecretFile, env: {} }),
  )
  scrubber.addKey(key.key)
  const journalKey = deriveJournalKey(key.key)
  const trader = createKey(key.key)
  const clock = createClock()
  const watch = createWatch({ clock, monotonicMs: () => performance.now() })
  const page = openPage(settings, { strategies, clock, log, scrubber })
  const surprises = new Map()
  const saw = (event, record) => {
    watch.saw(event)
    page.saw(event)
    if (record !== undefined) page.told({ ...record, fact: event })
    if (SURPRISES.includes(event.type))
      surprises.set(event.type, (surprises.get(event.type) ?? 0) + 1)
  }
  const telling = await openTelling(settings, {
    ...{ log, scrubber, clock, saw },
    mayWrite: () => lock.lostLately() === undefined,
    ailments: () => watch.probes.health().reasons,
  })
  telling.registerStrategies(strategies)
  const { observe } = telling
  const wallets = { trader: trader.address, operator: undefined }
  const anchors = await openAnchors(settings, wallets, clock)
  const opened = await openState(settings.mode, {
    dir: settings.stateDir,
    lock,
    anchors,
    clock,
    key: journalKey,
    observe,
    onFatal: (error) => {
      throw error
    },
  })
  const { journal } = opened
  await anchors.keep(journal)
  page.begin({
    state: journal.state,
    wallets: new Map([['trader', trader.address]]),
    ready: watch.probes.ready,
  })
  const server = await telling.serve(watch.probes, await siteOf(page))
  const policy = { ...DEFAULT_POLICY, pollMsMin: POLL_MS_MIN, backoffMsMin: 5 }
  const haltFile = openHaltFile(settings.stateDir)
  const guard = composeGuard(haltFile.barred, lock.lostLately, () => anchors.lost())
  const ports = { clock, journal, guard, haltFile, trader, observe }
  const modules = { versionOf: () => undefined }
  const composed = compose({ settings, strategies, policy, modules, ...ports })
  const closing = new AbortController()
  const { signal } = closing
  const nothing = () => undefined
  const own = { asked: createAsked(signal), tokenTrouble: nothing, uncompared: nothing, comparedTo: nothing }
  const context = { ...composed.context, ...own, closing: signal, stop: signal }
  await schedule(context, strategies)
  const slotOf = createTicks(context, strategies)
  letHeapGrow()

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
  const texts = readdirSync(segments).map((name) => readFileSync(join(segments, name), 'utf8'))
  const records = texts.join('').split('\n').length - 1
  await server.close()
  await composed.close()
  await clock.close()
  lock.release()
  rmSync(dir, { recursive: true, force: true })
  const report = { ...result, records, surprises: Object.fromEntries(surprises) }
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

const SURPRISES = ['refused', 'failed', 'order-unknown', 'order-ended', 'proof-failed', 'retry', 'chain-trouble', 'clock-trouble']

/** What the daemon journals before its first tick, with slots that begin in the past, so that many are due. */
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
