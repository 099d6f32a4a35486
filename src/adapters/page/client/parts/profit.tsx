import {
  differenceOf,
  fullAmount,
  money,
  shortAmount,
  signedMoney,
} from '../../../page-parts/words/amounts.ts'
import type { ProfitRow } from '../../model.ts'
import { Empty } from './card.tsx'
import { Unknown } from './words.tsx'

/** What orders bought that is still held: what it cost by the average, and what it is worth. */
export function Profit({ profit }: { profit: ProfitRow }) {
  const { held, token, cost, realised, unrealised } = profit
  return (
    <>
      {held.length === 0 ? (
        <Empty>Nothing that orders bought is held.</Empty>
      ) : (
        <table class="plain-table">
          <caption class="unseen">Bought and held</caption>
          <thead>
            <tr>
              <th scope="col">Token</th>
              <th scope="col" class="numeric">
                Amount
              </th>
              <th scope="col" class="numeric">
                Cost, {token}
              </th>
              <th scope="col" class="numeric">
                Profit, {token}
              </th>
            </tr>
          </thead>
          <tbody>
            {held.map((each) => (
              <tr key={each.token}>
                <th scope="row">{each.token}</th>
                <td class="numeric">
                  <span title={fullAmount(each.amount)}>{shortAmount(each.amount)}</span>
                </td>
                <td class="numeric">
                  <span title={fullAmount(each.cost)}>{money(each.cost)}</span>
                </td>
                <td class="numeric">
                  {each.value === null ? (
                    <Unknown>no price</Unknown>
                  ) : (
                    signedMoney(differenceOf(each.value, each.cost))
                  )}
                </td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Unrealised</th>
              <td />
              <td class="numeric">
                <span title={fullAmount(cost)}>{money(cost)}</span>
              </td>
              <td class="numeric strong">
                {unrealised === null ? <Unknown>no price</Unknown> : signedMoney(unrealised)}
              </td>
            </tr>
          </tfoot>
        </table>
      )}
      <p class="note-line">
        Realised since the first order: <strong>{signedMoney(realised)}</strong> {token}. By the
        average cost, before gas and charges.
      </p>
    </>
  )
}
