import { amountText } from '../../domain/money/amount-text.ts'
import { formatAmount, type Hex } from '../../domain/money/units.ts'
import { isoInstant } from '../../domain/schedule/civil-date.ts'
import type { OpenIntent } from '../../journal/state/daemon-state.ts'
import { projectionOf } from '../projections.ts'
import type { Findings, NonceAt } from './findings.ts'
import { notExecuted, type Refused, refusalOf, type SettleRefusal } from './manual-answers.ts'

/** Decimal text in whole tokens. */
export type Amount = { readonly token: string; readonly amount: string }

type Answer = {
  readonly as: 'dead' | 'executed TX' | 'executed unknown'
  readonly isPossible: boolean
  readonly reason: SettleRefusal | null
  readonly detail: string
}

/** Evidence about a possibly live order, for people and programs: plain data, ISO 8601 times, null if unknown or absent. */
export type Evidence = ReturnType<typeof evidenceOf>

/** Maximum transactions shown; rarely reached within a permit's minutes. */
const FOUND_MAX = 20

export function evidenceOf(open: OpenIntent, findings: Findings, named: Hex | undefined) {
  const { intent, state, attempt, orderId, ended } = open
  const { signed, head, final, isPast, found, searchFault } = findings
  const { symbol, decimals } = signed.token
  const most: Amount = { token: symbol, amount: formatAmount(signed.most, decimals) }
  const seen = findings.named
  return {
    intentId: intent.id,
    strategy: intent.strategy,
    slotAt: isoInstant(intent.slotSeconds),
    does: projectionOf(open).describe(intent),
    state,
    attempt,
    openedAt: isoInstant(Math.floor(open.openedAtMs / 1000)),
    signed: {
      kind: signed.kind,
      most,
      spender: signed.spender ?? null,
      recipient: signed.recipient,
      nonce: signed.nonce?.toString() ?? null,
      deadlineAt: signed.deadlineSeconds === undefined ? null : isoInstant(signed.deadlineSeconds),
    },
    service: { orderId: orderId ?? null, ended: ended ?? null },
    chain: {
      head: blockSeen(head),
      final: blockSeen(final),
      // At the final block and by the machine's clock.
      isDeadlinePast: isPast ?? null,
      says: saidBy(findings),
    },
    transactions: found.slice(0, FOUND_MAX).map(({ blockNumber, ...each }) => ({
      ...each,
      block: blockNumber.toString(),
    })),
    searchFault: searchFault ?? null,
    named: typeof seen === 'object' ? seen.shows : (seen ?? null),
    // Amount that counts against caps while the outcome is unknown.
    counted: most,
    answers: answersTo(findings, named),
  }
}

/** `nonceUsed` is null if it cannot be determined. */
function blockSeen(at: NonceAt | undefined) {
  if (at === undefined) return null
  const { blockNumber, blockTimeSeconds, isUsed = null } = at
  return { block: `${blockNumber}`, at: isoInstant(blockTimeSeconds), nonceUsed: isUsed }
}

export function saidBy({ outcome, found, named }: Findings): string {
  if (outcome.tag !== 'used') return outcome.why
  const seen = named === undefined || named === 'absent' ? found : [...found, named]
  const isExplained = seen.some(({ shows }) => shows === 'proof' || shows === 'cancel')
  const where = outcome.isFinal ? 'for good' : 'but not at a final block yet'
  return `its nonce is used, ${where}${isExplained ? '' : ', and nothing that was found explains it'}`
}

function answersTo(findings: Findings, txHash: Hex | undefined): readonly Answer[] {
  const { signed } = findings
  const full = amountText(signed.most, signed.token)
  const isProven = findings.named !== 'absent' && findings.named?.shows === 'proof'
  const named =
    txHash === undefined
      ? notExecuted(findings, { isNamed: true })
      : refusalOf(findings, { as: 'executed', txHash })
  return [
    answer(
      'dead',
      refusalOf(findings, { as: 'dead' }),
      `frees the ${full} that caps count for it; its slot ends failed`,
    ),
    answer(
      'executed TX',
      named,
      isProven
        ? 'the chain proves it, and it is booked as any other'
        : `booked by what the chain proves, or else all ${full} as spent; its slot counts as executed`,
    ),
    answer(
      'executed unknown',
      refusalOf(findings, { as: 'executed', txHash: undefined }),
      `books all ${full} as spent; its slot counts as executed`,
    ),
  ]
}

function answer(as: Answer['as'], why: Refused | undefined, effect: string): Answer {
  const { reason = null, detail = effect } = why ?? {}
  return { as, isPossible: why === undefined, reason, detail }
}
