import type { JournalRecord } from '../../domain/book/journal.ts'
import { DEFAULT_POLICY } from '../../domain/policy.ts'
import { type Address, formatAmount, parseAmount } from '../../domain/units.ts'
import {
  isBeingIndexed,
  makeDeposit,
  shownBy,
  waitForIndexing,
} from '../../execute/account/deposit.ts'
import type { GasTankAccount } from '../../ports.ts'
import { type AggregatorTools, whileStopped, withAggregator } from '../compose/aggregator.ts'
import { openState, readState } from '../compose/state.ts'
import { durationText } from '../describe.ts'
import { EXIT, type ExitCode, type Io, printOutcome, printReport } from '../io.ts'
import type { ConfigOptions } from '../load.ts'
import { type CallSavings, callSavings, savingsText } from './call-savings.ts'

const DAY_MS = 86_400_000
/** Days that the average charge is taken over. */
const CHARGE_DAYS = 7

export type GastankDepositOptions = ConfigOptions & { readonly yes?: boolean }

/** `gastank status`: what the service and the chain hold for the account, and how long it lasts. */
export function gastankStatus(options: ConfigOptions, io: Io): Promise<ExitCode> {
  return withAggregator(options, io, async (tools) => {
    const sight = await look(tools)
    printReport(io, options, { data: dataOf(sight), lines: linesOf(sight) })
    return sight.faults.length === 0 ? EXIT.done : EXIT.failed
  })
}

type Sight = {
  readonly account: Address
  readonly gasTank: Address
  readonly chain: string
  /** Undefined where it did not say, or does not know the account. */
  readonly service: GasTankAccount | undefined
  readonly isKnown: boolean | undefined
  readonly onChain: bigint | undefined
  readonly chargedPerDay: bigint | undefined
  /** Undefined before there is a journal. */
  readonly savings: CallSavings | undefined
  readonly faults: readonly string[]
}

async function look(tools: AggregatorTools): Promise<Sight> {
  const { aggregator, signer } = tools
  const { address: account } = signer
  const { gasTank } = aggregator.settings.contracts
  const [info, view, { chargedPerDay, savings }] = await Promise.all([
    aggregator.service.accountInfo(account),
    aggregator.chain.account({ account, gasTank }),
    costsOf(tools),
  ])
  const shown = shownBy(info)
  const faults = shown.ok ? [] : [shown.message]
  if (!view.ok) faults.push(view.fault.message)
  return {
    account,
    gasTank,
    chain: aggregator.settings.chain,
    service: info.ok ? info.value : undefined,
    isKnown: shown.ok ? info.ok : undefined,
    onChain: view.ok ? view.value.gasTankBalance : undefined,
    chargedPerDay,
    savings,
    faults,
  }
}

function availableOf({ service }: Sight): bigint | undefined {
  return service && service.balance - service.outstandingCharge
}

function isIndexing({ onChain, isKnown, service }: Sight): boolean {
  return onChain !== undefined && isKnown !== undefined && isBeingIndexed(onChain, service)
}

function runwayOf(sight: Sight): number | undefined {
  const available = availableOf(sight)
  return available === undefined ? undefined : runway(available, sight.chargedPerDay)
}

function dataOf(sight: Sight) {
  const { service, onChain, chargedPerDay, isKnown, faults } = sight
  const runwayMs = runwayOf(sight)
  return {
    account: sight.account,
    gasTank: sight.gasTank,
    chain: sight.chain,
    known: isKnown ?? null,
    balance: service?.balance ?? null,
    outstandingCharge: service?.outstandingCharge ?? null,
    available: availableOf(sight) ?? null,
    onChain: onChain ?? null,
    indexing: isIndexing(sight),
    chargedPerDay: chargedPerDay ?? null,
    savings: sight.savings ?? null,
    runwaySeconds: runwayMs === undefined ? null : Math.floor(runwayMs / 1000),
    faults,
  }
}

function linesOf(sight: Sight): readonly (readonly [string, string])[] {
  const { service, onChain, chargedPerDay, isKnown } = sight
  const runwayMs = runwayOf(sight)
  const stranger = isKnown === false ? ' (the service does not know it: nothing is deposited)' : ''
  return [
    ['account', `${sight.account}${stranger}`],
    ['GasTank', `${sight.gasTank} on ${sight.chain}`],
    ['balance', etherText(service?.balance)],
    ['outstanding', etherText(service?.outstandingCharge)],
    ['available', etherText(availableOf(sight))],
    ['on chain', `${etherText(onChain)}${isIndexing(sight) ? ', not all of it indexed yet' : ''}`],
    ['charged a day', chargedPerDay === undefined ? 'nothing yet' : etherText(chargedPerDay)],
    ['so far', sight.savings === undefined ? 'nothing yet' : savingsText(sight.savings)],
    ['lasts', runwayMs === undefined ? 'unknown' : durationText(runwayMs)],
    ...sight.faults.map((fault) => ['trouble', fault] as const),
  ]
}

/** `gastank deposit AMOUNT`: ether of the wallet into the GasTank, once, and then its indexing. */
export async function gastankDeposit(
  amount: string,
  options: GastankDepositOptions,
  io: Io,
): Promise<ExitCode> {
  const wei = amount.length <= 80 ? parseAmount(amount, 18) : undefined
  if (wei === undefined || wei === 0n) {
    io.stderr.write('gastank deposit: expected an amount of ether such as 0.05\n')
    return EXIT.usage
  }
  return withAggregator(options, io, async (tools) => {
    if (options.yes !== true) {
      tools.tell(
        `this would send ${etherText(wei)} from ${tools.signer.address} to the GasTank, and a deposit cannot be taken out again: repeat it with --yes`,
      )
      return EXIT.usage
    }
    return whileStopped({ tools, options, io, command: 'gastank deposit' }, () =>
      deposit(wei, tools, { options, io }),
    )
  })
}

async function deposit(
  wei: bigint,
  tools: AggregatorTools,
  { options, io }: { readonly options: ConfigOptions; readonly io: Io },
): Promise<ExitCode> {
  const { settings, aggregator, clock, observe, tell } = tools
  const failing = new AbortController()
  const opened = await openState({
    dir: settings.stateDir,
    clock,
    observe,
    onFatal: (error) => failing.abort(error),
  })
  try {
    for (const warning of opened.warnings) tell(warning)
    const stop = AbortSignal.any([tools.stop, failing.signal])
    const context = {
      ports: { clock, random: { jitter: Math.random }, journal: opened.journal, observe },
      policy: DEFAULT_POLICY,
      closing: stop,
      stop,
    }
    const made = await makeDeposit(context, aggregator, wei)
    if (!made.ok) return printOutcome(io, options, { ok: false, message: made.message })
    tell(`${etherText(wei)} are in the GasTank; waiting until the service has indexed them`)
    const indexed = await waitForIndexing(aggregator, tools)
    return printOutcome(io, options, { ...indexed, data: { deposited: wei } })
  } finally {
    await opened.close()
  }
}

/** Wei charged for calls a day, on average; undefined when nothing was. */
async function costsOf(tools: AggregatorTools): Promise<Pick<Sight, 'chargedPerDay' | 'savings'>> {
  const view = await readState(tools.settings.stateDir)
  if (view === undefined) return { chargedPerDay: undefined, savings: undefined }
  const chargedPerDay = await averageCharge(view.records(), tools.clock.now())
  return { chargedPerDay, savings: await callSavings(view.records()) }
}

/**
 * The average over the last seven days, or since the first charge where that is less: the first call of a new account
 * must not look like a seventh of a call a day. A day at the least.
 */
export async function averageCharge(
  records: AsyncIterable<JournalRecord>,
  nowMs: number,
): Promise<bigint | undefined> {
  let sum = 0n
  let firstMs: number | undefined
  for await (const { event, atMs } of records) {
    if (event.type !== 'call-proven' || event.execution.costs.charged === undefined) continue
    firstMs ??= atMs
    if (atMs > nowMs - CHARGE_DAYS * DAY_MS) sum += event.execution.costs.charged
  }
  if (firstMs === undefined || sum === 0n) return undefined
  const spanMs = Math.min(Math.max(nowMs - firstMs, DAY_MS), CHARGE_DAYS * DAY_MS)
  return (sum * BigInt(DAY_MS)) / BigInt(Math.ceil(spanMs))
}

/** How long what is available lasts at that rate, rounded down. */
export function runway(available: bigint, perDay: bigint | undefined): number | undefined {
  if (perDay === undefined || perDay === 0n) return undefined
  return available <= 0n ? 0 : Number((available * BigInt(DAY_MS)) / perDay)
}

function etherText(wei: bigint | undefined): string {
  return wei === undefined ? 'unknown' : `${formatAmount(wei, 18)} ETH`
}
