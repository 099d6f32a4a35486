import { assertNever } from '../../domain/errors.ts'
import type { Observation } from '../../domain/observation.ts'
import type { Log } from './log.ts'
import {
  daemonStarted,
  daemonStopped,
  daemonStopping,
  pause,
  slotClosed,
  slotOpened,
  strategyScheduled,
} from './observe-daemon.ts'
import { gasTank, gasTankLow, topUpCapped } from './observe-gas-tank.ts'
import {
  executed,
  failed,
  filled,
  orderAccepted,
  orderEnded,
  orderUnknown,
  paperFilled,
  permitDead,
  proofFailed,
  quoteVerified,
  refused,
  transaction,
} from './observe-order.ts'
import {
  chainTrouble,
  clockTrouble,
  createMemory,
  journalAppended,
  type Memory,
  openOrders,
  queueDepth,
  queueWait,
  rateLimit,
  request,
  retry,
  walletBalance,
} from './observe-service.ts'
import type { Observers } from './observers.ts'

/**
 * Tells the log, the metrics and the webhooks what happened. Returns at once and never throws: a fault in the telling
 * must not stop an order half-way, so it becomes a log line of its own.
 */
export function createObserver(to: Observers): (event: Observation) => void {
  const memory = createMemory()
  return (event) => {
    try {
      observe(event, to, memory)
    } catch (error) {
      reportBrokenObserver(to.log, event, error)
    }
  }
}

function observe(event: Observation, to: Observers, memory: Memory): void {
  switch (event.type) {
    case 'daemon-started':
      daemonStarted(event, to)
      break
    case 'daemon-stopping':
      daemonStopping(event, to)
      break
    case 'daemon-stopped':
      daemonStopped(event, to)
      break
    case 'strategy-scheduled':
      strategyScheduled(event, to)
      break
    case 'slot-opened':
      slotOpened(event, to)
      break
    case 'slot-closed':
      slotClosed(event, to)
      break
    case 'quote-verified':
      quoteVerified(event, to)
      break
    case 'refused':
      refused(event, to)
      break
    case 'order-accepted':
      orderAccepted(event, to)
      break
    case 'order-ended':
      orderEnded(event, to)
      break
    case 'order-unknown':
      orderUnknown(event, to)
      break
    case 'gas-tank':
      gasTank(event, to)
      break
    case 'gas-tank-low':
      gasTankLow(event, to)
      break
    case 'top-up-capped':
      topUpCapped(event, to)
      break
    case 'paper-filled':
      paperFilled(event, to)
      break
    case 'executed':
      executed(event, to)
      break
    case 'filled':
      filled(event, to)
      break
    case 'proof-failed':
      proofFailed(event, to)
      break
    case 'authorization-dead':
      permitDead(event, to)
      break
    case 'failed':
      failed(event, to)
      break
    case 'transaction':
      transaction(event, to)
      break
    case 'request':
      request(event, to, memory)
      break
    case 'retry':
      retry(event, to, memory)
      break
    case 'queue-wait':
      queueWait(event, to)
      break
    case 'queue-depth':
      queueDepth(event, to)
      break
    case 'rate-limit':
      rateLimit(event, to)
      break
    case 'journal-appended':
      journalAppended(event, to)
      break
    case 'pause':
      pause(event, to)
      break
    case 'wallet-balance':
      walletBalance(event, to)
      break
    case 'open-orders':
      openOrders(event, to)
      break
    case 'chain-trouble':
      chainTrouble(event, to, memory)
      break
    case 'clock-trouble':
      clockTrouble(event, to, memory)
      break
    default:
      assertNever(event)
  }
}

function reportBrokenObserver(log: Log, event: Observation, error: unknown): void {
  try {
    log.error(`could not report ${event.type}`, { err: error })
  } catch {
    // The log itself is broken (a full disk, a closed pipe): nobody is left to tell.
  }
}
