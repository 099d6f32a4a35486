import { type BaseUnits, baseUnits } from '../../../src/domain/money/units.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import type { AccountLimits } from '../../../src/domain/settings.ts'
import type { OperatorFiles } from '../../../src/engine/daemon.ts'
import { approvalsIn } from '../../../src/engine/limits/approvals.ts'
import type { ManualOrder } from '../../../src/strategies/manual/manual-kind.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { noChainFaults } from '../../simulation/chain/chain.ts'
import { noServiceFaults } from '../../simulation/gasless/faults.ts'
import { SimulatedDisk } from '../../simulation/journal.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import { BUY_WETH, MINUTE, SELL_USDC } from '../builders.ts'
import { sufferDamage } from './damage.ts'
import {
  disturbCallService,
  disturbCode,
  disturbModules,
  disturbNodes,
  disturbServices,
  disturbTime,
} from './faults.ts'

/** Most orders have ended before an await further away than this. */
const AWAITS_MAX = 150

/**
 * The one schedule of faults for every random simulation: the current faults of nodes, services, modules and time, and
 * the events at some await of the daemon. All of it follows from the seed.
 */
export class FaultSchedule {
  /** How often each event happened. */
  readonly happened = new Map<string, number>()
  readonly #sim: Simulation
  readonly #random: SeededRandom
  readonly #files: OperatorFiles
  /** Nothing of the journal is lost, and no copy of it trades: every action of the wallet is on record. */
  readonly #isAlone: boolean
  /** While a start is under way or copies still run, nothing else happens to the journal. */
  #isBusy = false

  constructor(sim: Simulation, random: SeededRandom, { isAlone = false } = {}) {
    this.#isAlone = isAlone
    this.#sim = sim
    this.#random = random
    this.#files = { strategies: sim.strategies, account: { ...sim.account } }
  }

  /** Sets the faults of a moment and ends all others. */
  async disturb(): Promise<void> {
    const { clock } = this.#sim
    const random = this.#random.fork(`at ${clock.trueMs}`)
    for (const disturbOne of [
      disturbTime,
      disturbNodes,
      disturbServices,
      disturbCallService,
      disturbModules,
    ])
      disturbOne(this.#sim, random)
    this.#disturbCode(random.fork('code'))
    this.#recover(random)
    if (random.chance(0.5)) this.#atAnAwait(random)
    if (random.chance(0.3)) await this.#crash(random)
  }

  /** Ends all outside faults for a while; events at awaits may still happen. */
  rest(): void {
    const { chainFaults, otherNodes, serviceFaults, aggregation, clock } = this.#sim
    for (const node of [chainFaults, ...otherNodes]) Object.assign(node, noChainFaults())
    Object.assign(serviceFaults, noServiceFaults())
    aggregation.calmDown()
    this.#sim.queueDelayMs = 0
    clock.offsetMs = 0
  }

  /** Ends all faults and returns the violations that are left after an hour. */
  async end(): Promise<readonly string[]> {
    const sim = this.#sim
    sim.clock.spare()
    sim.disk.onAppend = undefined
    sim.disk.crashAt = undefined
    sim.queueDelayMs = 0
    sim.queueDelaysMs = {}
    sim.aggregation.ledger.losesDirect = false
    sim.endCopies()
    this.#isBusy = false
    sim.haltFile = undefined
    Object.assign(sim, { strategies: this.#files.strategies })
    sim.account = { ...this.#files.account }
    sim.start()
    await this.#resume()
    // Strategies halted in the end are resumed, and trade until nothing is open again.
    const wasCalm = await sim.calmDown()
    await this.#resume()
    const isCalm = wasCalm && (await sim.calmDown())
    return isCalm ? [] : ['something stays open after all faults ended']
  }

  #note(what: string): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + 1)
  }

  /** Swaps the code of a contract, perhaps only for a while; an operator accepts it in time. */
  #disturbCode(random: SeededRandom): void {
    const sim = this.#sim
    const swapped = disturbCode(sim, random)
    if (swapped === undefined) return
    this.#note('code swapped')
    sim.clock.schedule(sim.clock.trueMs + random.between(1, 20) * MINUTE, () =>
      this.#control((control) => control.approve(swapped)),
    )
  }

  /** A supervisor restarts a stopped daemon; an operator resumes a halted one. */
  #recover(random: SeededRandom): void {
    const sim = this.#sim
    if (this.#isBusy) return
    if (!sim.isRunning) sim.start()
    if (random.chance(0.7)) this.#lift()
  }

  #lift(): void {
    this.#control((control) => control.resume(undefined))
    // Removes the file by hand when no daemon runs: the journal may still have the halt.
    if (!this.#sim.isRunning) this.#sim.haltFile = undefined
  }

  async #resume(): Promise<void> {
    await this.#sim.runFor(30_000)
    this.#lift()
    for (const { name } of approvalsIn(this.#sim.state))
      this.#control((control) => control.approve(name))
    await this.#sim.runFor(10_000)
  }

  /** Sends the running daemon a request; it may end before it answers, or refuse. */
  #control(ask: (control: Simulation['control']) => Promise<unknown>): void {
    if (!this.#sim.isRunning) return
    try {
      ask(this.#sim.control).catch(() => undefined)
    } catch {
      // No daemon handles slots yet.
    }
  }

  /** Schedules an event at an await: from now, or within the next opened slot. */
  #atAnAwait(random: SeededRandom): void {
    const { clock, disk } = this.#sim
    const awaits = random.between(1, AWAITS_MAX)
    const [name, act] = this.#randomEvent(random)
    const befall = (): void =>
      clock.befall(awaits, () => {
        this.#note(name)
        act()
      })
    if (random.chance(0.3)) {
      befall()
      return
    }
    disk.onAppend = (type) => {
      if (type !== 'slot-opened') return
      disk.onAppend = undefined
      befall()
    }
  }

  #randomEvent(random: SeededRandom): readonly [string, () => void] {
    const sim = this.#sim
    const { clock } = sim
    /** Commands come from outside, so they run in a separate turn. */
    const soon =
      (act: () => void): (() => void) =>
      () =>
        clock.schedule(clock.trueMs, act)
    const later = (minutes: number, act: () => void): void =>
      clock.schedule(clock.trueMs + random.between(1_000, minutes * MINUTE), act)
    const names = sim.strategies.map(({ name }) => name)
    const name = names[random.between(0, names.length - 1)] ?? ''
    const hand = random.fork('by hand')
    if (!this.#isAlone && hand.chance(0.1))
      return ['order by hand', soon(() => this.#order(hand, name))]
    const events: readonly (readonly [string, () => void])[] = [
      [
        'HALT file',
        () => {
          sim.haltFile = 'the file HALT is there'
          later(40, () => this.#lift())
        },
      ],
      ['halt', soon(() => this.#control((control) => control.halt()))],
      [
        'pause',
        soon(() => {
          this.#control((control) => control.pause(name))
          later(40, () => this.#control((control) => control.resume(name)))
        }),
      ],
      ['trigger', soon(() => this.#control((control) => control.trigger(name)))],
      ['reload', soon(() => this.#reload(this.#otherFiles(random)))],
      ['files back', soon(() => this.#reload(this.#files))],
      [
        'crash',
        () => {
          sim.crash()
          later(30, () => this.#startAgain())
        },
      ],
      [
        'stop',
        soon(() => {
          sim.stop('SIGTERM')
          later(20, () => this.#startAgain())
        }),
      ],
      ['overtaken', soon(() => this.#overtake(random))],
      ['copied', soon(() => this.#copy(random))],
      ['restart', soon(() => this.#startAgain())],
    ]
    return events[random.between(0, events.length - 1)] ?? ['nothing', () => undefined]
  }

  /** Of `manual`, or of one strategy's purchases. */
  #order(random: SeededRandom, name: string): void {
    const strategy = random.chance(0.3) ? name : undefined
    const order = { ...orderByHand(random), isOfPurchases: strategy !== undefined }
    this.#control((control) => control.order(strategy, order))
  }

  #startAgain(): void {
    if (!this.#isBusy) this.#sim.start()
  }

  /** One strategy file is gone, or caps are lower. */
  #otherFiles(random: SeededRandom): OperatorFiles {
    const { strategies, account } = this.#files
    const gone = random.between(0, strategies.length)
    const kept = strategies.filter((_each, index) => index !== gone)
    return random.chance(0.5)
      ? { strategies: kept.map(withHalfTheCaps), account }
      : { strategies: kept, account: halfOf(account) }
  }

  #reload(files: OperatorFiles): void {
    const sim = this.#sim
    sim.strategies = files.strategies
    sim.account = { ...files.account }
    this.#control((control) => control.reload(files))
  }

  #overtake(random: SeededRandom): void {
    const sim = this.#sim
    if (this.#isBusy || !sim.isRunning) return
    const thaw = sim.overtake()
    sim.clock.schedule(sim.clock.trueMs + random.between(1, 20 * MINUTE), thaw)
  }

  /** Runs a daemon over a copy of the directory, current or some records old, until its operator notices. */
  #copy(random: SeededRandom): void {
    const sim = this.#sim
    if (this.#isBusy || !sim.isRunning || sim.disk.anchor === undefined) return
    if (this.#isAlone) return
    const copy = new SimulatedDisk(sim.disk)
    if (random.chance(0.5))
      copy.cutTo(copy.wholeUpTo(Math.max(0, copy.lines.length - random.between(1, 30))))
    this.#isBusy = true
    sim.startCopy(copy)
    sim.clock.schedule(sim.clock.trueMs + random.between(1_000, 90 * MINUTE), () => {
      sim.endCopies()
      this.#isBusy = false
      if (!sim.isRunning) sim.start()
    })
  }

  async #crash(random: SeededRandom): Promise<void> {
    const sim = this.#sim
    if (random.chance(0.5)) {
      const when = random.chance(0.5) ? 'before' : 'after'
      sim.disk.crashAt = { append: sim.disk.appends + random.between(1, 12), when }
      return
    }
    if (this.#isBusy) return
    this.#isBusy = true
    sim.crash()
    await sim.runFor(random.between(1, 90) * MINUTE)
    if (random.chance(0.6) && !this.#isAlone) this.#note(await sufferDamage(sim, random))
    this.#isBusy = false
    if (!sim.isRunning) sim.start()
  }
}

function withHalfTheCaps(strategy: Strategy): Strategy {
  const { limits } = strategy
  const { perOrder, perHour, perDay, perWeek, total } = limits
  const halved = {
    perOrder: halves(perOrder),
    perHour: halves(perHour),
    perDay: halves(perDay),
    perWeek: halves(perWeek),
    total: halves(total),
  }
  return { ...strategy, limits: { ...limits, ...halved } }
}

function halfOf(account: AccountLimits): AccountLimits {
  const { perHour, perDay, perWeek, total } = account
  const halved = { perHour: halves(perHour), perDay: halves(perDay), perWeek: halves(perWeek) }
  return { ...account, ...halved, total: halves(total) }
}

function halves<Key>(caps: ReadonlyMap<Key, BaseUnits>): ReadonlyMap<Key, BaseUnits> {
  return new Map([...caps].map(([key, amount]) => [key, baseUnits(amount / 2n)]))
}

/** A small sale or purchase of one of the two tokens, at any price or with a limit that may not hold. */
function orderByHand(random: SeededRandom): ManualOrder {
  const isSale = random.chance(0.5)
  const [sell, buy] = random.chance(0.5) ? [SELL_USDC, BUY_WETH] : [BUY_WETH, SELL_USDC]
  const { decimals } = (isSale ? sell : buy).token
  const amount = baseUnits(BigInt(random.between(1, 20)) * 10n ** BigInt(decimals - 3))
  const max = { num: 2_500_000_000n, den: 10n ** 18n }
  return {
    id: `${random.between(0, 2 ** 30)}`,
    sell,
    buy,
    size: { side: isSale ? 'sell' : 'buy', amount },
    price: { min: undefined, max: sell === SELL_USDC && random.chance(0.3) ? max : undefined },
    slippageBps: random.chance(0.3) ? 100 : undefined,
    isOfPurchases: false,
  }
}
