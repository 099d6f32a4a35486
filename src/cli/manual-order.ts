import type { OrderRequest } from '../control/control-socket.ts'
import { type Asset, ETHER, wrappedEther } from '../domain/money/token.ts'
import { baseUnits } from '../domain/money/units.ts'
import type { Settings } from '../domain/settings.ts'
import {
  type ManualOrder,
  type ManualStrategy,
  manualStrategy,
} from '../strategies/manual/manual-kind.ts'
import { tradedTokens } from './market.ts'

/** The built-in strategy of orders by hand. */
export function manualStrategyOf(settings: Settings): ManualStrategy {
  const { slippageBps } = settings.gasless
  const { maxDeviationBps } = settings.limits
  return manualStrategy({ tokens: tradedTokens(settings), slippageBps, maxDeviationBps })
}

/** A token of the config, or ETH. */
export function assetNamed(name: string, { tokens }: Pick<Settings, 'tokens'>): Asset | undefined {
  const native = name === ETHER.symbol
  const token = native ? wrappedEther(tokens.values()) : tokens.get(name)
  return token && { token, native }
}

/** The order of a request, with the daemon's own tokens; text if it cannot be one. */
export function manualOrderOf(
  request: Omit<OrderRequest, 'command'>,
  settings: Pick<Settings, 'tokens'>,
): ManualOrder | string {
  const { id, side, strategy, slippageBps } = request
  const sell = assetNamed(request.sell, settings)
  const buy = assetNamed(request.buy, settings)
  const strange = sell === undefined ? request.sell : request.buy
  if (sell === undefined || buy === undefined)
    return `the config has no token ${strange}; it has ${[...settings.tokens.keys()].join(', ')}`
  if (sell.token === buy.token) return `${request.sell} and ${request.buy} are one token`
  const amount = baseUnits(BigInt(request.amount))
  const limit = request.limit === undefined ? undefined : BigInt(request.limit)
  const [num, den] = side === 'sell' ? [amount, limit] : [limit, amount]
  return {
    id,
    sell,
    buy,
    size: { side, amount },
    price: {
      min: undefined,
      max: num === undefined || den === undefined ? undefined : { num, den },
    },
    slippageBps,
    isOfPurchases: strategy !== undefined,
  }
}
