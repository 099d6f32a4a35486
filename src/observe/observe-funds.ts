import { ETHER } from '../domain/money/token.ts'
import { formatAmount } from '../domain/money/units.ts'
import { wholeTokens } from '../journal/wording/log-values.ts'
import { notification, TOP_UP_TOPIC } from '../journal/wording/notice.ts'
import { etherExact, sentence } from '../journal/wording/text.ts'
import type { Handlers } from './observers.ts'

const TOPPED_UP = 'The GasTank was topped up'
const DEPOSIT =
  '`tranched gastank status` shows it; `tranched gastank deposit AMOUNT --yes` adds to it while the daemon is stopped.'

export const FUNDS = {
  /** A balance that was not read is removed: an old figure would look current. */
  'wallet-balance'({ wallet, token, amount, decimals }, { metrics: { walletBalance } }) {
    if (amount === undefined) walletBalance.remove({ wallet, token })
    else walletBalance.set({ wallet, token }, wholeTokens(amount, { decimals }))
  },

  'wallet-needed'({ wallet, token, amount, decimals }, { metrics: { walletNeeded } }) {
    if (amount === undefined) walletNeeded.remove({ wallet, token })
    else walletNeeded.set({ wallet, token }, wholeTokens(amount, { decimals }))
  },

  profit({ valueToken, held, realised, unrealised }, { metrics: { costBasis, profit } }) {
    costBasis.reset()
    for (const { token, cost } of held)
      costBasis.set({ token: token.symbol }, wholeTokens(cost, valueToken))
    profit.set({ kind: 'realised' }, wholeTokens(realised, valueToken))
    if (unrealised === undefined) profit.remove({ kind: 'unrealised' })
    else profit.set({ kind: 'unrealised' }, wholeTokens(unrealised, valueToken))
  },

  portfolio({ valueToken, holdings }, { metrics: { portfolioValue, valueToken: counted } }) {
    counted.reset()
    if (valueToken !== undefined) counted.set({ value_token: valueToken.symbol }, 1)
    for (const { token, value } of holdings)
      if (value === undefined || valueToken === undefined) portfolioValue.remove({ token })
      else portfolioValue.set({ token }, wholeTokens(value, valueToken))
  },

  'gas-tank': {
    observe({ account, balance, outstanding, runwaySeconds, alertBelow }, { metrics }) {
      if (alertBelow !== undefined)
        metrics.gasTankAlertBelow.set({ account }, wholeTokens(alertBelow, ETHER))
      metrics.gasTankBalance.set({ account }, wholeTokens(balance, ETHER))
      metrics.gasTankOutstanding.set({ account }, wholeTokens(outstanding, ETHER))
      metrics.gasTankAvailable.set({ account }, wholeTokens(balance - outstanding, ETHER))
      if (runwaySeconds === undefined) metrics.runway.remove({ resource: 'gastank' })
      else metrics.runway.set({ resource: 'gastank' }, runwaySeconds)
    },
    ends: ({ account, isLow }) => [loginTopic(account), ...(isLow ? [] : [`gastank ${account}`])],
  },

  /** Only `/readyz` shows it; a refused call reports itself. */
  'account-delegation': () => undefined,

  /** Unknown figures are removed: old ones would look current. */
  'gas-tank-unknown': {
    observe({ account, isLogin }, { metrics }) {
      metrics.gasTankBalance.remove({ account })
      metrics.gasTankOutstanding.remove({ account })
      metrics.gasTankAvailable.remove({ account })
      metrics.runway.remove({ resource: 'gastank' })
      if (isLogin) metrics.disbelieved.inc({ service: 'aggregator', what: 'login' })
    },
    sentence({ account, isLogin, message }) {
      const why = isLogin ? 'the service does not accept the login of its wallet' : 'no answer'
      const text = `the funds of ${account} in the GasTank are unknown, ${why}: ${message}`
      return { text, details: { account } }
    },
    incident: ({ account }) => `funds of ${account}`,
    notify({ account, isLogin, message }) {
      if (!isLogin) return undefined
      const lines = [
        ...sentence(message),
        `Nothing is topped up for ${account} until it is accepted again.`,
        'Check `aggregator.wire.signatureHeader` and the wallet; `tranched gastank status` tests it.',
      ]
      const subject = 'The balance of the GasTank is unknown: the service refuses our login'
      const over = 'The aggregation service accepts our login again'
      return notification('low-funds', subject, lines, { topic: loginTopic(account), over })
    },
  },

  'gas-tank-low': {
    sentence({ account, available: wei }) {
      const available = formatAmount(wei, ETHER.decimals)
      const text = `the GasTank of ${account} has ${available} ETH left, below gasTank.alertBelow`
      return { text, details: { account, available } }
    },
    notify({ account, available }) {
      const lines = [
        `That is less than \`gasTank.alertBelow\` asks for, account ${account}. When it is empty, the service refuses calls.`,
        DEPOSIT,
      ]
      const lasting = { topic: `gastank ${account} low`, over: 'The GasTank has enough again' }
      const subject = `The GasTank has ${etherExact(available)} left`
      return notification('low-funds', subject, lines, lasting)
    },
  },

  'top-up-capped': {
    sentence: ({ account }) => ({
      text: `the GasTank of ${account} is not topped up: gasTank.topUp.maxPerDay is reached`,
      details: { account },
    }),
    notify({ account }) {
      const lines = [
        `\`gasTank.topUp.maxPerDay\` is reached, account ${account}. The next top-up is made when the day allows it.`,
        DEPOSIT,
      ]
      const subject = "The GasTank is low, and today's top-ups are used up"
      const lasting = { topic: `${TOP_UP_TOPIC} capped`, over: TOPPED_UP }
      return notification('low-funds', subject, lines, lasting)
    },
  },

  'top-up-barred': {
    sentence: ({ account, message }) => ({
      text: `the GasTank of ${account} is not topped up: ${message}`,
      details: { account },
    }),
    notify({ account, message }) {
      const lines = [...sentence(message), `Account ${account}. ${DEPOSIT}`]
      const lasting = { topic: `${TOP_UP_TOPIC} blocked`, over: TOPPED_UP }
      return notification('low-funds', 'The GasTank is low, and is not topped up', lines, lasting)
    },
  },
} satisfies Partial<Handlers>

function loginTopic(account: string): string {
  return `gastank ${account} login`
}
