import { fullAmount, money, percent, shortAmount } from '../../../page-parts/words/amounts.ts'
import { durationText } from '../../../page-parts/words/times.ts'
import type { Holding, Overview } from '../../model.ts'
import { Empty } from './card.tsx'
import { Unknown } from './words.tsx'

/** Prices older than this are told with their age in plain sight. */
const OLD_PRICE_SECONDS = 3_600

/** What the wallets hold, what it is worth, and how old the price is by which it is. */
export function Holdings({ overview, brief = false }: { overview: Overview; brief?: boolean }) {
  const { holdings, valueToken, totalValue } = overview
  if (holdings.length === 0) return <Empty>Balances have not been read yet.</Empty>
  return (
    <table class="plain-table holdings">
      <caption class="unseen">Holdings</caption>
      <thead>
        <tr>
          <th scope="col">Token</th>
          <th scope="col" class="numeric">
            Amount
          </th>
          <th scope="col" class="numeric">
            Value{valueToken === null ? '' : `, ${valueToken}`}
          </th>
          {!brief && (
            <th scope="col" class="numeric share">
              Share
            </th>
          )}
          {!brief && (
            <th scope="col" class="numeric age">
              Price read
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {holdings.map((holding) => (
          <Row key={holding.token} holding={holding} brief={brief} totalValue={totalValue} />
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Total</th>
          <td />
          <td class="numeric strong">
            {totalValue === null ? (
              <Unknown />
            ) : (
              <span title={fullAmount(totalValue)}>{money(totalValue)}</span>
            )}
          </td>
          {!brief && <td class="share" />}
          {!brief && <td class="age" />}
        </tr>
      </tfoot>
    </table>
  )
}

function Row(props: { holding: Holding; brief: boolean; totalValue: string | null }) {
  const { token, amount, value } = props.holding
  return (
    <tr>
      <th scope="row">{token}</th>
      <td class="numeric">
        {amount === null ? (
          <Unknown>not read</Unknown>
        ) : (
          <span title={fullAmount(amount)}>{shortAmount(amount)}</span>
        )}
      </td>
      <td class="numeric">
        {value === null ? (
          <Unknown>no price</Unknown>
        ) : (
          <span title={fullAmount(value)}>{money(value)}</span>
        )}
        {isOld(props.holding) && (
          <span class={`old line small ${props.brief ? '' : 'narrow-only'}`}>old price</span>
        )}
      </td>
      {!props.brief && <td class="numeric share">{shareText(value, props.totalValue)}</td>}
      {!props.brief && (
        <td class="numeric age">
          <PriceAge holding={props.holding} />
        </td>
      )}
    </tr>
  )
}

function shareText(value: string | null, total: string | null) {
  const share = Number(value) / Number(total)
  if (value === null || total === null || !Number.isFinite(share)) return <Unknown>–</Unknown>
  return percent(share)
}

function isOld({ priceAgeSeconds }: Holding): boolean {
  return priceAgeSeconds !== null && priceAgeSeconds > OLD_PRICE_SECONDS
}

function PriceAge({ holding }: { holding: Holding }) {
  if (holding.priceAgeSeconds === null) return <Unknown>–</Unknown>
  const text = `${durationText(holding.priceAgeSeconds * 1_000)} ago`
  return <span class={isOld(holding) ? 'old' : ''}>{text}</span>
}
