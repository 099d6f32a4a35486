import type { IntentId } from '../../../domain/order/intent.ts'
import { wordText } from '../../../domain/order/manual-resolution.ts'
import type { Amount, Evidence } from '../../../venues/manual/manual-evidence.ts'
import type { Settled } from '../../../venues/manual/resolve-manually.ts'

export function evidenceLines(evidence: Evidence): readonly string[] {
  const { intentId, does, state, attempt, openedAt } = evidence
  const lines: readonly (readonly [string, string])[] = [
    ['state', `${state}, attempt ${attempt}, opened ${openedAt}`],
    ['signed', signedText(evidence)],
    ['the service', serviceText(evidence)],
    ...chainLines(evidence),
    ...transactionLines(evidence),
    [
      'booked so far',
      `${amountText(evidence.counted)}, counted by caps until its outcome is known`,
    ],
    ...evidence.answers.map(({ as, isPossible, reason, detail }) => {
      return [
        `--as ${as}`,
        `${isPossible ? 'possible' : `not now (${reason})`}: ${detail}`,
      ] as const
    }),
  ]
  return [`${intentId}: ${does}`, ...lines.map(([name, text]) => `  ${name.padEnd(22)}${text}`)]
}

function amountText({ amount, token }: Amount): string {
  return `${amount} ${token}`
}

function signedText({ signed }: Evidence): string {
  const { kind, most, spender, recipient, nonce, deadlineAt } = signed
  const whom = spender === null ? `to ${recipient}` : `by ${spender}, for ${recipient}`
  const once = nonce === null ? 'no nonce' : `nonce ${nonce}`
  const until = deadlineAt === null ? 'without a deadline' : `until ${deadlineAt}`
  return `a ${kind} for at most ${amountText(most)} ${whom}; ${once}, ${until}`
}

function serviceText({ service: { orderId, ended } }: Evidence): string {
  const named = orderId === null ? 'assigned no order id' : `assigned order id ${orderId}`
  return ended === null ? named : `${named}, then reported ${ended.status}: ${ended.message}`
}

function chainLines({ chain }: Evidence): readonly (readonly [string, string])[] {
  const { head, final, isDeadlinePast, says } = chain
  const past =
    isDeadlinePast === null ? '' : `, the deadline ${isDeadlinePast ? 'is' : 'is not'} past`
  return [
    ['newest block', head === null ? 'not read' : blockText(head)],
    ['final block', final === null ? 'not read' : `${blockText(final)}${past}`],
    ['the chain', says],
  ]
}

function blockText({ block, at, nonceUsed }: NonNullable<Evidence['chain']['head']>): string {
  const nonce = nonceUsed === null ? '' : `, its nonce is ${nonceUsed ? '' : 'not '}used`
  return `${block} of ${at}${nonce}`
}

const SHOWS = {
  proof: 'shows that it executed',
  mention: 'carries the signed data, but proves nothing',
  cancel: 'was sent by the owner and used the nonce',
  nothing: 'shows no trace of it',
  absent: 'is not on the chain',
} as const

function transactionLines({
  transactions,
  searchFault,
  named,
}: Evidence): readonly (readonly [string, string])[] {
  const found = transactions.map(({ txHash, block, success, shows }) => {
    const reverted = success ? '' : ', was reverted'
    return ['transaction', `${txHash} in block ${block} ${SHOWS[shows]}${reverted}`] as const
  })
  return [
    ...(found.length > 0 ? found : [['transactions', 'none was found'] as const]),
    ...(searchFault === null ? [] : [['search', `incomplete: ${searchFault}`] as const]),
    ...(named === null ? [] : [['the one you named', SHOWS[named]] as const]),
  ]
}

export function settledText(
  id: IntentId,
  { by, word }: Extract<Settled, { ok: true }>,
  { isRunning }: { readonly isRunning: boolean },
): string {
  const what =
    by === 'proof'
      ? 'the chain proves that it executed, and it is booked accordingly'
      : `settled by your word: ${wordText(word)}`
  const closes = isRunning ? 'now' : 'when the daemon runs again'
  return `${id}: ${what}; nothing more is signed for it, and its slot closes ${closes}`
}
