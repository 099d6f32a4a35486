import type { Problem } from '../../../config/yaml/problem.ts'

/** In the order in which they are shown. */
export const SECTIONS = [
  'config',
  'keys',
  'chains',
  'contracts',
  'wallets',
  'prices',
  'services',
  'state',
  'disk',
  'supervisor',
  'notifications',
] as const

export type Section = (typeof SECTIONS)[number]

/** Every check that there is, and where it is shown. docs/doctor.md says of each what it asks and what to do. */
const CHECKS = {
  config: 'config',
  strategies: 'config',
  modules: 'config',
  'loose-files': 'config',
  key: 'keys',
  'shared-key': 'keys',
  sandbox: 'chains',
  node: 'chains',
  'node-chain': 'chains',
  'node-clock': 'chains',
  'node-latency': 'chains',
  'node-batch': 'chains',
  'node-history': 'chains',
  'node-logs': 'chains',
  'nodes-agree': 'chains',
  'gas-limits': 'chains',
  code: 'contracts',
  'token-decimals': 'contracts',
  'token-symbol': 'contracts',
  wallet: 'wallets',
  'trader-code': 'wallets',
  'trader-gas': 'wallets',
  'trader-funds': 'wallets',
  allowance: 'wallets',
  'permit2-rights': 'wallets',
  'operator-delegation': 'wallets',
  'operator-gas': 'wallets',
  'gastank-contract': 'wallets',
  'gastank-account': 'wallets',
  'gastank-funds': 'wallets',
  feed: 'prices',
  gasless: 'services',
  'gasless-clock': 'services',
  'gasless-limits': 'services',
  'service-tokens': 'services',
  quote: 'services',
  aggregator: 'services',
  daemon: 'state',
  halt: 'state',
  'contract-code': 'state',
  'state-owner': 'state',
  anchor: 'state',
  'state-proof': 'state',
  'disk-room': 'disk',
  'disk-latency': 'disk',
  supervisor: 'supervisor',
  'pm2-kill-timeout': 'supervisor',
  'pm2-saved': 'supervisor',
  receivers: 'notifications',
  heartbeat: 'notifications',
} as const satisfies Readonly<Record<string, Section>>

export type CheckId = keyof typeof CHECKS
export const CHECK_IDS = Object.keys(CHECKS) as readonly CheckId[]

export type Verdict = 'fine' | 'warning' | 'fault' | 'unknown'

/** One thing that was asked, as `doctor --json` prints it. */
export type Check = {
  readonly id: CheckId
  readonly section: Section
  /** `unknown` where nobody could tell, or nothing was asked. */
  readonly verdict: Verdict
  readonly says: string
  /** What to do; commands stand in backquotes. */
  readonly remedy?: string
}

export function fine(id: CheckId, says: string): Check {
  return { id, section: CHECKS[id], verdict: 'fine', says }
}

export function warning(id: CheckId, says: string, remedy: string): Check {
  return { id, section: CHECKS[id], verdict: 'warning', says, remedy }
}

export function fault(id: CheckId, says: string, remedy: string): Check {
  return { id, section: CHECKS[id], verdict: 'fault', says, remedy }
}

export function unknown(id: CheckId, says: string, remedy?: string): Check {
  const check = { id, section: CHECKS[id], verdict: 'unknown', says } as const
  return remedy === undefined ? check : { ...check, remedy }
}

/** One line for all of a kind that are well, or none where there are none. */
export function allFine(id: CheckId, names: readonly string[], says: string): readonly Check[] {
  return names.length === 0 ? [] : [fine(id, `${names.join(', ')}: ${says}`)]
}

/** What is wrong with the operator's files, as a check. */
export function ofProblem(id: CheckId, verdict: 'warning' | 'fault', problem: Problem): Check {
  const { file, line, column, path, message, expected, suggestion } = problem
  const place = line === 0 ? file : `${file}:${line}:${column}`
  const says = `${place} ${path === '' ? '' : `${path}: `}${message}`
  const meant = suggestion === undefined ? '' : `; did you mean ${suggestion}?`
  const remedy = `${expected}${meant}`
  return verdict === 'fault' ? fault(id, says, remedy) : warning(id, says, remedy)
}
