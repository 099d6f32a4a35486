import { briefText, priceText } from '../../../domain/money/amount-text.ts'
import type { IntentId } from '../../../domain/order/intent.ts'
import { reasonText } from '../../../domain/order/reason.ts'
import { formatInstant } from '../../../domain/schedule/civil-date.ts'
import { etherText } from '../../wording/costs.ts'
import { sentenceOf } from '../../wording/text.ts'
import { type Line, line, type Outputs } from '../output.ts'
import type { CallRecorded } from './authorizations.ts'

type Recorded = { readonly attempt: number; readonly deadlineSeconds: number | undefined }

export const AUTHORIZATION_OUTPUTS = {
  'permit-recorded': {
    level: 'debug',
    name: 'authorization-recorded',
    line: ({ intentId, permit }) => recordedLine(intentId, permit),
    notify: null,
    title: ({ permit }) => recordedTitle(permit),
    /** The permit binds the checked values; nothing else was signed. */
    messages({ permit }, { tokens }) {
      const { amount, minAmountOut, token, tokenOut, feed, fee } = permit
      const [sell, buy] = [tokens.get(token), tokens.get(tokenOut)]
      const taken = sell === undefined ? 'the decided amount' : briefText(amount, sell)
      const least = buy === undefined ? 'the requested amount' : briefText(minAmountOut, buy)
      const price = feed && sell && buy && priceText(feed, { sell, buy })
      return [
        `Checked: it sells at most ${taken} for at least ${least}, to ${permit.recipient}, with spender ${permit.spender}.`,
        price === undefined
          ? 'No feed gave a price when it was signed.'
          : `By the feeds when it was signed: ${price}.`,
        ...(fee === undefined || fee === 0n || sell === undefined
          ? []
          : [`The quote names a fee of ${briefText(fee, sell)}, which its price includes.`]),
      ]
    },
  },

  'call-recorded': {
    level: 'debug',
    name: 'authorization-recorded',
    line: ({ intentId, call }) => recordedLine(intentId, deadlined(call)),
    notify: null,
    title: ({ call }) => recordedTitle(deadlined(call)),
    messages({ call }) {
      const { target, gasLimit, directGas, value } = call
      const bound =
        call.trust === 'trustless' ? `, only with nonce ${call.nonce} of the account` : ''
      return [
        `Checked: it calls ${target}${value === 0n ? '' : ` with ${etherText(value)}`}${bound}.`,
        `Simulated: ${directGas} gas if sent directly; its gas limit is ${gasLimit}.`,
      ]
    },
  },

  'call-signed': {
    level: 'debug',
    line: ({ attempt, hash }, { intent: { strategy } }) =>
      line(`signed the call of ${strategy}: ${hash}`, { attempt, hash }),
    notify: null,
    title: ({ attempt }) => `attempt ${attempt} signed, with its transaction for the service`,
    messages: ({ hash }) => [`Transaction ${hash}.`],
  },

  'authorization-withdrawn': {
    level: 'info',
    line: ({ attempt, reason }, { intent: { strategy } }) =>
      line(`attempt ${attempt} of ${strategy} was not signed: ${reason}`, { attempt, reason }),
    notify: null,
    title: ({ attempt, reason }) => `attempt ${attempt} withdrawn before it was signed: ${reason}`,
    messages: ({ reason }) => [sentenceOf(reasonText(reason))],
  },

  'authorization-dead': {
    level: 'info',
    line: ({ attempt, how }, { intent: { strategy } }) =>
      line(`permit of ${strategy} is dead (${how})`, { attempt, how }),
    notify: null,
    title: ({ attempt, how }) => `attempt ${attempt} can no longer execute: ${how}`,
    messages: ({ blockNumber }) => [`By block ${blockNumber}.`],
  },
} satisfies Partial<Outputs>

/** A trusted call has no deadline. */
function deadlined(call: CallRecorded['call']): Recorded {
  const deadlineSeconds = call.trust === 'trustless' ? call.deadlineSeconds : undefined
  return { attempt: call.attempt, deadlineSeconds }
}

function recordedLine(intentId: IntentId, { attempt, deadlineSeconds }: Recorded): Line {
  return line(`recorded the authorization of ${intentId}, attempt ${attempt}`, {
    attempt,
    deadlineSeconds,
  })
}

function recordedTitle({ attempt, deadlineSeconds }: Recorded): string {
  const until =
    deadlineSeconds === undefined ? '' : `, valid until ${formatInstant(deadlineSeconds)}`
  return `attempt ${attempt} recorded, ready to sign${until}`
}
