import type { Problem } from '../../../config/yaml/problem.ts'
import { messageOf } from '../../../domain/errors.ts'
import type { Address, Hex } from '../../../domain/money/units.ts'
import type { ChainSettings, Settings } from '../../../domain/settings.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import type { ChainReply } from '../../../ports.ts'
import type { Strategy } from '../../../strategies/registry.ts'
import { counted } from '../../text/amount-data.ts'
import { beside } from '../../text/table.ts'

/** All checks by section, in display order. docs/doctor.md explains each and its remedy. */
const CHECKS = {
  config: ['config', 'strategies', 'modules', 'loose-files'],
  keys: ['key', 'shared-key'],
  chains: [
    'sandbox',
    'node',
    'node-chain',
    'node-clock',
    'node-latency',
    'node-batch',
    'node-history',
    'node-logs',
    'nodes-agree',
    'gas-limits',
  ],
  contracts: ['code', 'token-decimals', 'token-symbol', 'known-token', 'feed-description'],
  wallets: [
    'wallet',
    'trader-code',
    'trader-gas',
    'trader-funds',
    'allowance',
    'permit2-rights',
    'operator-delegation',
    'operator-gas',
    'gastank-contract',
    'gastank-account',
    'gastank-funds',
  ],
  prices: ['feed'],
  services: ['gasless', 'gasless-clock', 'gasless-limits', 'service-tokens', 'quote', 'aggregator'],
  state: ['daemon', 'halt', 'contract-code', 'state-owner', 'anchor', 'state-proof'],
  disk: ['disk-room', 'disk-latency'],
  supervisor: ['supervisor', 'pm2-kill-timeout', 'pm2-saved'],
  notifications: ['receivers', 'heartbeat'],
} as const

type Section = keyof typeof CHECKS
type CheckId = (typeof CHECKS)[Section][number]
export const SECTIONS = Object.keys(CHECKS) as readonly Section[]
export const CHECK_IDS: readonly CheckId[] = Object.values(CHECKS).flat()

/** `unknown`: not checked, or without a conclusive answer. */
export const VERDICTS = ['fine', 'warning', 'fault', 'unknown'] as const
type Verdict = (typeof VERDICTS)[number]

/** One result, as `doctor --json` prints it. */
export type Check = {
  readonly id: CheckId
  readonly section: Section
  readonly verdict: Verdict
  readonly says: string
  /** Remedy, with commands in backquotes. */
  readonly remedy?: string
}

export type Checks = Check | readonly Check[]

function checkOf(verdict: Verdict, id: CheckId, says: string, remedy?: string): Check {
  const ids = (section: Section): readonly CheckId[] => CHECKS[section]
  const section = SECTIONS.find((each) => ids(each).includes(id)) ?? 'config'
  return { id, section, verdict, says, ...(remedy === undefined ? {} : { remedy }) }
}

export function fine(id: CheckId, says: string): Check {
  return checkOf('fine', id, says)
}

export function warning(id: CheckId, says: string, remedy: string): Check {
  return checkOf('warning', id, says, remedy)
}

export function fault(id: CheckId, says: string, remedy: string): Check {
  return checkOf('fault', id, says, remedy)
}

export function unknown(id: CheckId, says: string, remedy?: string): Check {
  return checkOf('unknown', id, says, remedy)
}

/** One line for all good results of a kind; empty without any. */
export function allFine(id: CheckId, names: readonly string[], says: string): readonly Check[] {
  return names.length === 0 ? [] : [fine(id, `${names.join(', ')}: ${says}`)]
}

export function ofProblem(id: CheckId, verdict: 'warning' | 'fault', problem: Problem): Check {
  const { file, line, column, path, message, expected, suggestion } = problem
  const place = line === 0 ? file : `${file}:${line}:${column}`
  const says = `${place} ${path === '' ? '' : `${path}: `}${message}`
  const meant = suggestion === undefined ? '' : `; did you mean ${suggestion}?`
  return checkOf(verdict, id, says, `${expected}${meant}`)
}

/** Input known before any outside request. */
export type Known = {
  readonly settings: Settings
  /** Empty if they cannot be read. */
  readonly strategies: readonly Strategy[]
  readonly state: DaemonState
  /** The trading wallet; undefined if unknown. */
  readonly owner: Address | undefined
  readonly operator: Address | undefined
  /** First block of the gasless service's chain; undefined if no node has it. */
  readonly genesisHash?: Hex | undefined
}

/** True if the chain has no usable node: the settings hold only usable ones. */
export function isSilent({ rpcUrls }: ChainSettings): boolean {
  return rpcUrls.length === 0
}

/** A value to check, or the checks that explain its absence. */
export type Read<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly checks: readonly Check[] }

export const READ_MS_MAX = 5_000

/** Ends a reading without a value; `check` reports why. */
export class Unread extends Error {
  readonly check: Check
  constructor(check: Check) {
    super(check.says)
    this.check = check
  }
}

const LATE = Symbol('late')

/** Reads a value within a time limit, so that a failing or hanging read does not stop the others. Never rejects. */
export async function read<Value>(
  id: CheckId,
  ask: () => Promise<Value>,
  msMax: number = READ_MS_MAX,
): Promise<Read<Value>> {
  const missed = (check: Check) => ({ ok: false, checks: [check] }) as const
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), msMax)
  })
  try {
    const value = await Promise.race([ask(), late])
    if (value !== LATE) return { ok: true, value }
    return missed(unknown(id, `${id}: no answer within ${msMax / 1_000} s`))
  } catch (error) {
    if (error instanceof Unread) return missed(error.check)
    return missed(unknown(id, `${id}: could not be checked: ${messageOf(error)}`))
  } finally {
    clearTimeout(timer)
  }
}

export async function inspect<Value>(
  id: CheckId,
  ask: () => Promise<Value>,
  check: (value: Value) => Checks | Promise<Checks>,
): Promise<readonly Check[]> {
  const found = await read(id, ask)
  return found.ok ? [await check(found.value)].flat() : found.checks
}

/** Like `inspect`, for a chain's answer: a failure is a fault. */
export function inspectReply<Value>(
  id: CheckId,
  ask: () => Promise<ChainReply<Value>>,
  check: (value: Value) => Checks,
): Promise<readonly Check[]> {
  return inspect(id, ask, (reply) => {
    if (reply.ok) return check(reply.value)
    const says = `${id}: could not be read: ${reply.fault.message}`
    return fault(id, says, 'see the checks of its chain')
  })
}

const MARKS: Readonly<Record<Verdict, { readonly mark: string; readonly colour: number }>> = {
  fine: { mark: 'ok', colour: 32 },
  warning: { mark: 'warn', colour: 33 },
  fault: { mark: 'FAIL', colour: 31 },
  unknown: { mark: '?', colour: 36 },
}

/** Columns before the text. */
const INDENT = 8

/** Checks by section, each a line with its remedy below, and a summary. */
export function reportText(
  checks: readonly Check[],
  { color, columns }: { readonly color: boolean; readonly columns: number },
): string {
  const paint = (code: number, text: string): string =>
    color ? `\u001b[${code}m${text}\u001b[0m` : text
  const lines: string[] = []
  for (const section of SECTIONS) {
    const own = checks.filter((check) => check.section === section)
    if (own.length === 0) continue
    lines.push(paint(1, section))
    for (const { verdict, says, remedy } of own) {
      const { mark, colour } = MARKS[verdict]
      const [first = '', ...more] = beside(`  ${mark}`.padEnd(INDENT), says, columns)
      lines.push(first.replace(mark, paint(colour, mark)), ...more)
      if (remedy !== undefined) lines.push(...beside(`${' '.repeat(INDENT)}-> `, remedy, columns))
    }
    lines.push('')
  }
  return [...lines, summary(checks)].join('\n')
}

function summary(checks: readonly Check[]): string {
  const count = (verdict: Verdict) => checks.filter((check) => check.verdict === verdict).length
  const parts = [
    `${count('fine')} fine`,
    counted(count('warning'), 'warning'),
    counted(count('fault'), 'fault'),
    ...(count('unknown') > 0 ? [`${count('unknown')} unknown`] : []),
  ]
  return `${counted(checks.length, 'check')}: ${parts.join(', ')}`
}
