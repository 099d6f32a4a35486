import { makesCalls, pairsOf } from '../../../../domain/strategy.ts'
import type { AggregatorReply, GasTankAccount } from '../../../../ports.ts'
import type { Asking } from '../../../compose/checkup.ts'
import { tradedTokens } from '../../account/approvals.ts'
import { look, lookAndJudge } from '../bounded.ts'
import { type Check, unknown } from '../check.ts'
import { judgeOperator } from '../judge/operator.ts'
import { judgeAggregator, judgeGasless } from '../judge/services.ts'
import { lookAtContracts } from './chains.ts'
import { isSilent, type Known } from './known.ts'
import { judgeMarket, lookAtQuote, lookAtRights, marketOf } from './market.ts'

/** Everything that is asked of chains and services once it is known which nodes can be asked, side by side. */
export async function lookOutside(known: Known, asking: Asking): Promise<readonly Check[]> {
  const { chains } = known.settings
  const market = look('wallet', () => marketOf(known, asking))
  const checks = await Promise.all([
    ...[...chains.values()].map((chain) => lookAtContracts(known, chain, asking)),
    market.then((looked) => judgeMarket(known, looked)),
    lookAtRights(known, asking),
    lookAtGasless(known, asking),
    market.then((looked) => lookAtQuote(known, looked, asking)),
    lookAtOperator(known, asking),
  ])
  return checks.flat()
}

async function lookAtOperator(
  { settings, strategies, operator: account }: Known,
  asking: Asking,
): Promise<readonly Check[]> {
  const { aggregator } = settings
  if (aggregator === undefined) return []
  const { operator } = asking
  if (operator === undefined || account === undefined)
    return [
      unknown('aggregator', 'the account behind calls was not looked at: its key is not at hand'),
    ]
  const chain = settings.chains.get(aggregator.chain)
  const isAsked = chain !== undefined && !isSilent(chain)
  const [{ checks, info }, sight] = await Promise.all([
    logIn(operator),
    isAsked ? look('operator-delegation', operator.sight) : undefined,
  ])
  if (sight === undefined)
    return [
      ...checks,
      unknown(
        'operator-delegation',
        `the account behind calls was not looked at: no node of ${aggregator.chain} can be asked`,
      ),
    ]
  if (!sight.ok) return [...checks, ...sight.checks]
  const { value } = sight
  if (!value.ok)
    return [
      ...checks,
      unknown(
        'operator-delegation',
        `the account behind calls could not be read: ${value.fault.message}`,
      ),
    ]
  const callers = strategies
    .filter((each) => each.enabled && makesCalls(each))
    .map(({ name }) => name)
  return [
    ...checks,
    ...judgeOperator({ account, settings: aggregator, callers, info, ...value.value }),
  ]
}

async function logIn(operator: NonNullable<Asking['operator']>): Promise<{
  readonly checks: readonly Check[]
  readonly info: AggregatorReply<GasTankAccount> | undefined
}> {
  const login = await look('aggregator', operator.login)
  if (!login.ok) return { checks: login.checks, info: undefined }
  const { reply, durationMs } = login.value
  return { checks: [judgeAggregator(reply, durationMs)], info: reply }
}

function lookAtGasless({ settings, strategies }: Known, asking: Asking): Promise<readonly Check[]> {
  const traded = strategies
    .filter(({ enabled }) => enabled)
    .flatMap(pairsOf)
    .flatMap(({ sell, buy }) => [sell.symbol, buy.symbol])
  return lookAndJudge(
    'gasless',
    () => asking.service(),
    ({ reply: tokens, ...sight }) =>
      judgeGasless({ tokens, ...sight, named: tradedTokens(settings), traded: new Set(traded) }),
  )
}
