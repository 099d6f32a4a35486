import { type Address, type Hex, parseAddress } from '../../domain/money/units.ts'
import {
  type ContractCode,
  codeText,
  NO_CODE,
  pinText,
  workingHash,
} from '../../domain/order/contract.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { JournalEvent } from '../../journal/events/registry.ts'
import { contractCode } from '../../journal/events/state/contracts.ts'
import { holdLifted } from '../../journal/events/strategy/stops.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import type { Ports } from '../../ports.ts'

type Approval = {
  readonly kind: 'strategy' | 'contract'
  /** Argument of `tranched approve`. */
  readonly name: string
  readonly sinceMs: number
  readonly detail: string
}

export type Approved =
  | {
      readonly ok: true
      readonly approved: readonly string[]
      readonly details: readonly string[]
      readonly waiting: readonly Approval[]
    }
  | { readonly ok: false; readonly detail: string }

type Pending = Approval & {
  readonly record: (detail: string) => JournalEvent
  readonly changed?: {
    readonly key: string
    readonly address: Address
    readonly code: ContractCode
  }
}

function pendingIn(state: DaemonState): readonly Pending[] {
  return [...heldStrategies(state), ...changedContracts(state)]
}

function heldStrategies(state: DaemonState): readonly Pending[] {
  return [...state.strategies].flatMap(([name, { held }]) => {
    if (held === undefined) return []
    const { atMs: sinceMs, terms, detail } = held
    const record = (by: string): JournalEvent =>
      holdLifted({ strategy: name, terms, cause: 'operator', detail: by })
    return [{ kind: 'strategy', name, sinceMs, detail, record }]
  })
}

function changedContracts({ contracts }: DaemonState): readonly Pending[] {
  return [...contracts].flatMap(([key, { changed, code: before, ...place }]) => {
    if (changed === undefined) return []
    const { name, address } = place
    const { code, atMs: sinceMs } = changed
    const detail = `${address} had ${codeText(before)} and has ${codeText(code)}`
    const record = (): JournalEvent => contractCode({ ...place, code, status: 'accepted' })
    return [{ kind: 'contract', name, sinceMs, detail, record, changed: { key, address, code } }]
  })
}

function unacceptable(
  { name, changed }: Pending,
  pins: ReadonlyMap<string, Hex>,
): string | undefined {
  if (changed === undefined) return undefined
  const hash = workingHash(changed.code)
  if (hash === NO_CODE) return `${name} has no code any more: name another in the config`
  const pin = pins.get(changed.key)
  return pin === undefined || pin === hash
    ? undefined
    : `${pinText(name, pin, hash)}: if the new code is right, change the pin and restart first`
}

/** Pending approvals, oldest first. */
export function approvalsIn(state: DaemonState): readonly Approval[] {
  return pendingIn(state)
    .map(({ kind, name, sinceMs, detail }) => ({ kind, name, sinceMs, detail }))
    .sort((one, other) => one.sinceMs - other.sinceMs)
}

/** Journals an approval by name or contract address. A command cannot approve code that contradicts the config's pin. */
export async function approve(
  { journal }: Pick<Ports, 'journal'>,
  name: string,
  pins: ReadonlyMap<string, Hex> = new Map(),
): Promise<Approved> {
  const address = parseAddress(name)
  const due = pendingIn(journal.state).filter(
    (each) => each.name === name || (address !== undefined && each.changed?.address === address),
  )
  if (due.length === 0) return { ok: false, detail: strangerText(name, journal.state) }
  const refused = due.flatMap((each) => unacceptable(each, pins) ?? [])
  if (refused.length > 0) return { ok: false, detail: refused.join('; ') }
  await journal.append(...due.map(({ record }) => record('approved by the operator')))
  return {
    ok: true,
    approved: due.map((each) => each.name),
    details: due.map(({ detail }) => detail),
    waiting: approvalsIn(journal.state),
  }
}

function strangerText(name: string, state: DaemonState): string {
  const names = approvalsIn(state).map((each) => each.name)
  if (names.length === 0) return `${name} waits for no approval; nothing does`
  const meant = nearest(name, names)
  return meant === undefined
    ? `${name} waits for no approval; these do: ${names.join(', ')}`
    : `${name} waits for no approval; did you mean ${meant}?`
}
