import { briefText, priceText } from '../../../domain/amount-text.ts'
import { costWords } from '../../../domain/book/costs.ts'
import type { Moved } from '../../../domain/book/orders.ts'
import { reasonText } from '../../../domain/reason-words.ts'
import type { Observed } from '../../tell/observers.ts'
import { doubtText } from './doubts.ts'
import { sentence, type Text, type TextContext, transactionLink, whyCommand } from './text.ts'
import { lastingText } from './time.ts'

/** Orders, from their fill to their failure. */

export function filledText(event: Observed<'filled'>, { swapChain }: TextContext): Text {
  const { strategy, sell, buy, paid, received, vsFeedBps, txHash, durationMs } = event
  const price = priceText({ num: event.paid, den: event.received }, event)
  const feed = againstFeed(vsFeedBps)
  return {
    subject: `${strategy} traded ${briefText(paid, sell)} for ${briefText(received, buy)}`,
    lines: [
      ...(price === undefined ? [] : [`${price}${feed === undefined ? '' : `, ${feed}`}.`]),
      `Proven on ${swapChain.name} after ${lastingText(durationMs)}.`,
    ],
    link: transactionLink(swapChain, txHash),
  }
}

function againstFeed(bps: number | undefined): string | undefined {
  if (bps === undefined) return undefined
  const percent = (Math.abs(bps) / 100).toFixed(2)
  if (percent === '0.00') return 'at the price of the feed'
  return `${percent} % ${bps > 0 ? 'better' : 'worse'} than the feed`
}

export function executedText(event: Observed<'executed'>, { callChain }: TextContext): Text {
  const { strategy, venue, label, txHash, durationMs, costs } = event
  const how = venue === 'direct' ? 'directly, not through the service' : 'together with others'
  const cost = costWords(costs)
  return {
    subject: `${strategy} called ${label}`,
    lines: [
      `Sent ${how}; proven${callChain === undefined ? '' : ` on ${callChain.name}`} after ${lastingText(durationMs)}.`,
      ...(cost === undefined ? [] : sentence(cost)),
    ],
    link: transactionLink(callChain, txHash),
  }
}

export function paperText({ strategy, moved, swap }: Observed<'paper-filled'>): Text {
  const price = swap && priceText({ num: swap.paid, den: swap.received }, swap)
  return {
    subject:
      swap === undefined
        ? `${strategy} would have traded ${movedText(moved)}`
        : `${strategy} would have traded ${briefText(swap.paid, swap.sell)} for ${briefText(swap.received, swap.buy)}`,
    lines: [
      ...(price === undefined ? [] : [`${price}, at the quote.`]),
      'A dry run: it is booked on paper, and nothing was signed.',
    ],
  }
}

export function failedText(event: Observed<'failed'>): Text {
  const { strategy, intentId, venue, reason, detail } = event
  const what = venue === 'gasless' ? 'did not trade' : 'made no call'
  return {
    subject: `${strategy} ${what}: ${reasonText(reason)}`,
    lines: [
      ...sentence(detail),
      isForWantOfFunds(reason)
        ? `Nothing was bought. Once the wallet has enough, the next slot goes on by itself; \`tranched plan ${strategy}\` shows what it takes.`
        : 'The order is over, and the next slot is decided afresh.',
      `The whole story: ${whyCommand(intentId)}`,
    ],
  }
}

/** Whether an order failed because somebody has to send funds. */
export function isForWantOfFunds(reason: string): boolean {
  return reason === 'insufficient-balance' || reason === 'insufficient-gas'
}

export function refusedText({ strategy, intentId, reason, detail }: Observed<'refused'>): Text {
  return {
    subject: `${strategy} signed nothing: ${reasonText(reason)}`,
    lines: [
      ...sentence(detail),
      'Your files do not allow it, so nothing is spent, and the next slot is decided afresh. If it goes on, look before you change a limit.',
      `The whole story: ${whyCommand(intentId)}`,
    ],
  }
}

export function reopenedText({ strategy, intentId, moved }: Observed<'fill-reopened'>): Text {
  return {
    subject: `The chain took back a fill of ${strategy}`,
    lines: [
      `It was ${movedText(moved)}; a reorganisation removed the block that proved it.`,
      'The order is followed again to its end, and nothing is signed for it a second time. Mostly it comes back within minutes.',
      `The whole story: ${whyCommand(intentId)}`,
    ],
  }
}

export function disbelievedText(event: Observed<'disbelieved'>): Text {
  const { strategy, intentId, detail } = event
  const whose = strategy ?? `The ${event.service} service`
  return {
    subject: `${whose}: ${doubtText(event)}`,
    lines: [
      ...sentence(detail),
      'What is signed may still execute. Nothing else is signed for it, and the chain is asked until it shows what became of it.',
      ...(intentId === undefined
        ? ['`tranched status` shows what is open.']
        : [
            `If it lasts: \`tranched settle ${intentId}\` shows what is known, and ends it by your word.`,
          ]),
    ],
  }
}

export function unsoldText(event: Observed<'program-ended'>): Text {
  const { strategy, token, total, unsold } = event
  return {
    subject: `${strategy} is over, and ${briefText(unsold, token)} are not sold`,
    lines: [
      `${briefText(total, token)} were to be sold, and no slice is left.`,
      `\`tranched trigger ${strategy}\` sells the rest now, within its limits.`,
    ],
  }
}

function movedText(moved: Moved): string {
  return 'call' in moved ? moved.call : `${moved.paid} -> ${moved.received}`
}
