import { ETHER } from '../../../domain/money/token.ts'
import { formatAmount, type Hex } from '../../../domain/money/units.ts'
import type { LogLevel } from '../../../observe/log.ts'
import type { Metrics } from '../../../observe/metrics.ts'
import type { TransactionRecord } from '../../records.ts'
import { etherText } from '../../wording/costs.ts'
import { wholeTokens } from '../../wording/log-values.ts'
import { TOP_UP_TOPIC } from '../../wording/notice.ts'
import { type Line, line, type Outputs } from '../output.ts'
import type { TransactionStep } from './transactions.ts'

/** Each event of a transaction is reported as one step. */
const STEP = {
  level: (_: object, { status }: TransactionStep) => LEVELS[status],
  name: 'transaction',
  line: (_: object, step: TransactionStep) => transactionLine(step),
  measure: measureStep,
  notify: null,
  title: (_: object, { purpose, status, fee }: TransactionStep) =>
    `own transaction (${purpose}) ${status}${fee === undefined ? '' : `, it cost ${etherText(fee)}`}`,
}

export const TRANSACTION_OUTPUTS = {
  'transaction-recorded': { ...STEP, messages: ({ transaction }) => [purposeText(transaction)] },
  'transaction-signed': { ...STEP, messages: ({ hash }) => [`Transaction ${hash}.`] },
  'transaction-ended': {
    ...STEP,
    messages: ({ hash }) => (hash === undefined ? [] : [`Transaction ${hash}.`]),
  },
  'transaction-reopened': {
    ...STEP,
    messages: ({ blockNumber }) => [
      `Another block stands at ${blockNumber} now. It is sent again.`,
    ],
  },

  'transactions-final': {
    level: 'debug',
    line: ({ blockNumber }) => line('own transactions are final', { blockNumber }),
    notify: null,
    title: ({ blockNumber }) => `own transactions final by block ${blockNumber}`,
  },

  'deposit-indexed': {
    level: 'info',
    line(_, context) {
      const amount = formatAmount(context.amount, ETHER.decimals)
      return line(`the service has the deposit of ${amount} ETH`, { amount })
    },
    notify: null,
    ends: () => [TOP_UP_TOPIC],
    title: (_, { amount }) => `deposit of ${etherText(amount)} seen by the service`,
  },
} satisfies Partial<Outputs>

const LEVELS: Readonly<Record<TransactionStep['status'], LogLevel>> = {
  // Further steps follow immediately.
  recorded: 'debug',
  signed: 'debug',
  replaced: 'info',
  mined: 'info',
  withdrawn: 'info',
  reverted: 'warn',
  lost: 'warn',
  reopened: 'warn',
}

export function transactionLine(
  step: Pick<TransactionStep, 'intentId' | 'purpose'> & {
    readonly status: TransactionStep['status'] | 'sent'
    readonly hash: Hex | undefined
  },
): Line {
  const { intentId, purpose, status, hash } = step
  const strategy = intentId?.split(':')[0]
  const whose = strategy === undefined ? '' : ` of ${strategy}`
  const done = status === 'reopened' ? 'removed by a reorganisation, sent again' : status
  return line(`${purpose} transaction${whose} ${done}`, {
    strategy,
    intentId,
    purpose,
    status,
    hash,
  })
}

/** The venue whose costs include a wallet transaction. */
const PAID_FOR = {
  approve: 'gasless',
  wrap: 'gasless',
  unwrap: 'gasless',
  deposit: 'aggregated',
} as const

function measureStep({ fees, disbelieved }: Metrics, _: object, step: TransactionStep): void {
  const { purpose, fee, status } = step
  // The cost of a direct call is counted with the call.
  if (fee !== undefined && purpose !== 'call')
    fees.inc(
      { venue: PAID_FOR[purpose], token: 'ETH', what: 'gas' },
      Math.max(0, wholeTokens(fee, ETHER)),
    )
  if (status === 'reopened') disbelieved.inc({ service: 'rpc', what: 'reorganised' })
}

const PURPOSES = {
  approve: 'lets Permit2 take the token',
  wrap: 'turns ETH into WETH',
  unwrap: 'turns WETH into ETH',
  call: 'makes the call directly',
  deposit: 'fills the GasTank',
} as const

function purposeText({ purpose, nonce, value, isCancelling }: TransactionRecord): string {
  const does = isCancelling === true ? 'does nothing but use up its nonce' : PURPOSES[purpose]
  return `It ${does}; nonce ${nonce}${value === 0n ? '' : `, with ${etherText(value)}`}.`
}
