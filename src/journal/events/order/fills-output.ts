import { briefText, feedText, priceText } from '../../../domain/money/amount-text.ts'
import { ETHER } from '../../../domain/money/token.ts'
import { formatAmount } from '../../../domain/money/units.ts'
import type { Intent } from '../../../domain/order/intent.ts'
import { durationText } from '../../../domain/text/duration.ts'
import type { Metrics } from '../../../observe/metrics.ts'
import { ROUTES } from '../../../venues/projections.ts'
import type { CallEntry, FillEntry, Trade } from '../../ledger/entry.ts'
import type { Moved } from '../../projections/order-reducer.ts'
import { costText, savedOf } from '../../wording/costs.ts'
import { seconds, tookText, wholeTokens } from '../../wording/log-values.ts'
import { conflictTopic, lackOfFunds, notification } from '../../wording/notice.ts'
import { sentence, transactionLink, whyCommand } from '../../wording/text.ts'
import { line, type Output, type Outputs } from '../output.ts'
import { strategyIn } from '../registry.ts'
import type { CallProven, FillContext, FillProven, FillsFinal, PaperFilled } from './fills.ts'

/** Output shared by all executed orders. */
const EXECUTED: Pick<
  Output<FillProven | CallProven | PaperFilled, object>,
  'level' | 'ends' | 'brief'
> = {
  level: 'info',
  ends: (event) => [lackOfFunds(strategyIn(event) ?? '').topic, conflictTopic(event.intentId)],
  brief: () => ({ event: 'filled', what: 'an order was filled' }),
}

export const FILL_OUTPUTS = {
  'fill-proven': {
    ...EXECUTED,
    name: 'filled',
    /** Details have exact amounts, the text short ones. */
    line(_, { entry, durationMs }) {
      const { strategy, sell, buy, txHash } = entry
      const paid = formatAmount(entry.paid, sell.decimals)
      const received = formatAmount(entry.received, buy.decimals)
      const details = {
        venue: 'gasless',
        sell: sell.symbol,
        buy: buy.symbol,
        paid,
        received,
        txHash: `${txHash}`,
        durationMs,
      }
      const moved = `${briefText(entry.paid, sell)} -> ${briefText(entry.received, buy)}`
      return line(`filled ${strategy}: ${moved} in ${tookText(durationMs)}`, details, details)
    },
    measure: (metrics, _, context) => measureFill(metrics, context, 'gasless'),
    notify(_, { entry, durationMs }, { swapChain }) {
      const { strategy, sell, buy, paid, received, vsFeedBps, txHash } = entry
      const price = priceText({ num: paid, den: received }, entry)
      const feed = percentOfFeed(vsFeedBps)
      const text = {
        subject: `${strategy} traded ${briefText(paid, sell)} for ${briefText(received, buy)}`,
        lines: [
          ...(price === undefined ? [] : [`${price}${feed === undefined ? '' : `, ${feed}`}.`]),
          `Proven on ${swapChain.name} after ${durationText(durationMs)}.`,
        ],
        link: transactionLink(swapChain, `${txHash}`),
      }
      return { event: 'filled', text }
    },
    title(_, { entry }) {
      const { paid, sell, received, buy } = entry
      const traded = `${briefText(paid, sell)} for ${briefText(received, buy)}`
      return `filled: ${traded}${againstFeed(entry)}`
    },
    messages({ intentId, fill }, { tokens, permits }) {
      const { paid, received, blockNumber, txHash } = fill
      const permit = permits.get(intentId)
      const [sell, buy] = [tokens.get(permit?.token ?? ''), tokens.get(permit?.tokenOut ?? '')]
      const price = sell && buy && priceText({ num: paid, den: received }, { sell, buy })
      return [
        ...(price === undefined ? [] : [`Price: ${price}.`]),
        `Proven by transfers in block ${blockNumber}, transaction ${txHash}.`,
      ]
    },
  },

  'call-proven': {
    ...EXECUTED,
    name: 'executed',
    /** The cost is reported even if sharing saved nothing. */
    line({ execution: { txHash, costs } }, { entry, durationMs }) {
      const { strategy, venue, label } = entry
      const { charged, blob } = costs
      const saved = savedOf(costs)
      const cost = costText(costs)
      const ether = (wei: bigint): string => formatAmount(wei, ETHER.decimals)
      const details = {
        venue,
        label,
        txHash,
        durationMs,
        ...(charged === undefined ? {} : { chargedEther: ether(charged) }),
        ...(saved === undefined ? {} : { savedEther: ether(saved) }),
        ...(blob === undefined ? {} : { blobEther: ether(blob) }),
      }
      const text = `executed ${strategy}: ${label} (${venue}) in ${tookText(durationMs)}${cost === undefined ? '' : `, ${cost}`}`
      return line(text, details, details)
    },
    measure(metrics, event, context) {
      measureFill(metrics, context, event.execution.via)
      measureCosts(metrics, context.entry)
    },
    notify({ execution: { costs, txHash } }, { entry, durationMs }, { callChain }) {
      const { strategy, venue, label } = entry
      const cost = costText(costs)
      const text = {
        subject: `${strategy} called ${label}`,
        lines: [
          `Sent ${ROUTES[venue].sent}; proven${callChain === undefined ? '' : ` on ${callChain.name}`} after ${durationText(durationMs)}.`,
          ...(cost === undefined ? [] : sentence(cost)),
        ],
        link: transactionLink(callChain, txHash),
      }
      return { event: 'filled', text }
    },
    title({ execution }, { entry: { label, venue } }) {
      const costs = costText(execution.costs)
      return `executed: ${label} (${venue})${costs === undefined ? '' : `, ${costs}`}`
    },
    messages: ({ execution }) => [
      `In block ${execution.blockNumber}, transaction ${execution.txHash}.`,
    ],
  },

  'paper-filled': {
    ...EXECUTED,
    line(_, { intent: { strategy, venue }, moved, durationMs }) {
      return line(
        `paper filled ${strategy}: ${movedText(moved)}, at the quote; nothing was signed`,
        { venue, durationMs, paper: true },
        { venue, paper: 'yes' },
      )
    },
    measure: (metrics, _, context) => measureFill(metrics, context, context.intent.venue),
    notify(_, { entry, moved }) {
      const trade = entry.type === 'trade' ? entry : undefined
      const price = trade && priceText({ num: trade.paid, den: trade.received }, trade)
      const what =
        trade === undefined
          ? movedText(moved)
          : `${briefText(trade.paid, trade.sell)} for ${briefText(trade.received, trade.buy)}`
      return notification('filled', `${entry.strategy} would have traded ${what}`, [
        ...(price === undefined ? [] : [`${price}, at the quote.`]),
        'A dry run: it is booked on paper, and nothing was signed.',
      ])
    },
    title: (_, { entry, moved }) =>
      entry.type === 'call'
        ? `called on paper: ${entry.label}`
        : `filled on paper: ${movedText(moved, ' for ')}${againstFeed(entry)}`,
  },

  'fills-final': {
    level: 'debug',
    line: ({ blockNumber }, { intentIds }) =>
      line(`final: ${intentIds.join(', ')}`, { intents: intentIds, blockNumber }),
    notify: null,
    title: finalTitle,
    bareTitle: finalTitle,
  },

  /** An error: the reported fill may not have happened. */
  'fill-reopened': {
    level: 'error',
    line({ attempt, blockNumber }, { intent: { strategy, venue }, moved }) {
      return line(
        `a reorganisation undid ${strategy}: ${movedText(moved)}; it is open again, and nothing is signed for it`,
        { venue, attempt, blockNumber },
        { venue, attempt },
      )
    },
    measure: ({ disbelieved }) => disbelieved.inc({ service: 'rpc', what: 'reorganised' }),
    notify: ({ intentId }, { intent: { strategy }, moved }) =>
      notification('reorganised', `The chain reverted a fill of ${strategy}`, [
        `It was ${movedText(moved)}; a reorganisation removed the block that proved it.`,
        'The order is open again, and nothing is signed for it a second time. Usually it fills again within minutes.',
        `The full timeline: ${whyCommand(intentId)}`,
      ]),
    brief: () => ({ event: 'reorganised', what: 'the chain reverted a fill' }),
    title: ({ blockNumber }) => `a reorganisation at block ${blockNumber} removed the fill`,
  },
} satisfies Partial<Outputs>

function finalTitle({ blockNumber }: FillsFinal): string {
  return `final by block ${blockNumber}`
}

function measureFill(
  metrics: Metrics,
  { entry, durationMs }: FillContext<Intent, FillEntry>,
  venue: string,
): void {
  const { fills, orderDuration, lastFill, volume, againstFeed } = metrics
  const { strategy } = entry
  fills.inc({ strategy, venue })
  orderDuration.observe({ venue }, seconds(durationMs))
  lastFill.setToCurrentTime({ strategy })
  if (entry.type === 'call') return
  const { sell, buy, paid, received, vsFeedBps } = entry
  volume.inc({ strategy, token: sell.symbol, side: 'sell' }, wholeTokens(paid, sell))
  volume.inc({ strategy, token: buy.symbol, side: 'buy' }, wholeTokens(received, buy))
  if (vsFeedBps !== undefined) againstFeed.observe({ strategy }, vsFeedBps)
}

/** Blob gas is part of the charge, but is counted separately. */
function measureCosts({ fees }: Metrics, { venue, charged, blob }: CallEntry): void {
  if (charged === undefined) return
  const [what] = ROUTES[venue].costs
  fees.inc({ venue, token: 'ETH', what }, inEther(charged - blob))
  if (blob > 0n) fees.inc({ venue, token: 'ETH', what: 'blob' }, inEther(blob))
}

function inEther(wei: bigint): number {
  return Math.max(0, wholeTokens(wei, ETHER))
}

function percentOfFeed(bps: number | undefined): string | undefined {
  if (bps === undefined) return undefined
  const percent = (Math.abs(bps) / 100).toFixed(2)
  if (percent === '0.00') return 'at the price of the feed'
  return `${percent} % ${bps > 0 ? 'better' : 'worse'} than the feed`
}

function movedText(moved: Moved, joint = ' -> '): string {
  return 'call' in moved ? moved.call : `${moved.paid}${joint}${moved.received}`
}

function againstFeed({ vsFeedBps }: Trade): string {
  return vsFeedBps === undefined ? '' : `, ${feedText(vsFeedBps)}`
}
