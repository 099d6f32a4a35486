import type { Permit2Right } from '../../../../adapters/chain/inspection.ts'
import type { ApprovalPolicy } from '../../../../domain/settings.ts'
import type { Token } from '../../../../domain/token.ts'
import { ETHER } from '../../../../domain/token.ts'
import { type Address, formatBrief } from '../../../../domain/units.ts'
import { GAS_RESERVE_WEI } from '../../../../engine/view.ts'
import type { ChainView } from '../../../../ports.ts'
import {
  allowanceText,
  isUnlimited,
  type WantedApproval,
  wantedText,
} from '../../account/approvals.ts'
import { allFine, type Check, fault, fine, unknown, warning } from '../check.ts'

/** The wallet that trades, as one block has it. */
export type TraderFacts = {
  readonly owner: Address
  readonly approval: ApprovalPolicy
  readonly view: Pick<ChainView, 'nativeBalance' | 'ownerHasCode' | 'balances' | 'allowances'>
  /** Tokens of its chain. `sellers` are the enabled strategies that may sell one. */
  readonly tokens: readonly {
    readonly token: Token
    readonly sellers: readonly string[]
    readonly wanted: WantedApproval
  }[]
  /** A dry-run signs nothing, so that it needs neither gas nor allowances. */
  readonly signs: boolean
}

/** Whether the trading wallet can trade what the strategies want, and nobody else can take from it (rule A5). */
export function judgeTrader(facts: TraderFacts): readonly Check[] {
  const { owner, view, signs } = facts
  const code = view.ownerHasCode
    ? fault(
        'trader-code',
        `the wallet that trades has code on its chain (${owner})`,
        'nothing is signed for it: take the delegation away with the wallet program that made it, or move what it holds to a new wallet (`tranched wallet new --out FILE`)',
      )
    : fine('trader-code', 'the wallet that trades has no code')
  return [
    code,
    ...(signs ? [judgeGas(facts)] : []),
    ...judgeFunds(facts),
    ...(signs ? judgeAllowances(facts) : []),
  ]
}

function judgeGas({ view, owner, tokens }: TraderFacts): Check {
  const text = etherText(view.nativeBalance)
  const trades = tokens.some(({ sellers }) => sellers.length > 0)
  if (view.nativeBalance >= GAS_RESERVE_WEI)
    return fine('trader-gas', `the wallet that trades has ${text} for gas`)
  const bad = view.nativeBalance === 0n && trades ? fault : warning
  const says = `the wallet that trades has ${text} for gas, less than ${etherText(GAS_RESERVE_WEI)}`
  return bad('trader-gas', says, `send some ether to ${owner}: approvals cost a little gas`)
}

function judgeFunds({ tokens, view, owner }: TraderFacts): readonly Check[] {
  const checks: Check[] = []
  const held: string[] = []
  for (const { token, sellers } of tokens) {
    if (sellers.length === 0) continue
    const balance = view.balances.get(token.address)
    if (balance === undefined)
      checks.push(
        fault(
          'trader-funds',
          `${token.symbol}: its balance cannot be read`,
          `check \`tokens.${token.symbol}.address\`, or ask another node`,
        ),
      )
    else if (balance === 0n)
      checks.push(
        warning(
          'trader-funds',
          `the wallet holds no ${token.symbol}, which ${sellers.join(', ')} may sell`,
          `send some to ${owner}, or leave it until it has bought some`,
        ),
      )
    else held.push(`${formatBrief(balance, token.decimals)} ${token.symbol}`)
  }
  return held.length === 0
    ? checks
    : [...checks, fine('trader-funds', `the wallet that trades holds ${held.join(', ')}`)]
}

function judgeAllowances({ tokens, view, approval }: TraderFacts): readonly Check[] {
  const checks: Check[] = []
  const none: string[] = []
  for (const { token, sellers, wanted } of tokens) {
    const allowance = view.allowances.get(token.address)
    const { symbol } = token
    const revoke = `\`tranched approvals revoke ${symbol}\``
    if (allowance === undefined)
      checks.push(unknown('allowance', `${symbol}: its allowance cannot be read`))
    else if (allowance > 0n && sellers.length === 0)
      checks.push(
        warning(
          'allowance',
          `${symbol}: Permit2 may spend ${allowanceText(allowance, token)}, and no strategy sells it`,
          revoke,
        ),
      )
    else if (isUnlimited(allowance) && approval !== 'unlimited')
      checks.push(
        warning(
          'allowance',
          `${symbol}: Permit2 may spend all of it, and \`gasless.approval\` is ${approval}`,
          `${revoke}: the next order has as much approved as the config says`,
        ),
      )
    else if (allowance > 0n)
      checks.push(
        fine(
          'allowance',
          `${symbol}: Permit2 may spend ${allowanceText(allowance, token)}; wanted: ${wantedText(wanted, token)}`,
        ),
      )
    else if (sellers.length > 0) none.push(symbol)
  }
  return [...checks, ...allFine('allowance', none, 'approved when the first order needs it')]
}

/** Rights in Permit2's own table. This daemon gives none: orders carry a signature each. */
export function judgeRights(
  rights: readonly Permit2Right[],
  { tokens, nowMs }: { readonly tokens: readonly Token[]; readonly nowMs: number },
): readonly Check[] {
  const live = rights.filter(({ expiresAtSeconds }) => expiresAtSeconds * 1_000 > nowMs)
  if (live.length === 0)
    return [fine('permit2-rights', 'no spender has a standing right in Permit2')]
  return live.map(({ token: address, spender, amount }) => {
    const token = tokens.find((each) => each.address === address)
    const what = token === undefined ? address : allowanceText(amount, token)
    return warning(
      'permit2-rights',
      `${spender} has a standing right in Permit2 to take ${what}`,
      'this daemon never gives one: take it away with the wallet program that gave it, and find out who has the key',
    )
  })
}

export function etherText(wei: bigint): string {
  return `${formatBrief(wei, ETHER.decimals)} ETH`
}
