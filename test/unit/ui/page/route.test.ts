import { expect, test } from 'vitest'
import {
  placeOf,
  strategyHash,
  viewHash,
  whyHash,
} from '../../../../src/ui/page/client/shell/route.ts'

test("a slot has its own address, also in history's form with a leg", () => {
  const panel = { tag: 'why', strategy: 'weekly-eth', slotSeconds: 1_893_488_400 }
  expect(placeOf('#why=weekly-eth:1893488400')).toStrictEqual({ panel })
  expect(placeOf('#why=weekly-eth:1893488400:0')).toStrictEqual({ panel })
  expect(placeOf(whyHash('weekly-eth', 1_893_488_400))).toStrictEqual({ panel })
})

test('addresses lead back to their view', () => {
  expect(placeOf(viewHash('orders'))).toStrictEqual({
    view: 'orders',
    strategy: undefined,
    panel: undefined,
  })
  expect(placeOf(viewHash('fills', 'a-b'))).toStrictEqual({
    view: 'fills',
    strategy: 'a-b',
    panel: undefined,
  })
  const panel = { tag: 'strategy', strategy: 'a:b %<i>' }
  expect(placeOf(strategyHash('a:b %<i>'))).toStrictEqual({ panel })
})

test.each([
  '',
  '#',
  '#nothing',
  '#why=weekly-eth',
  '#why=:5',
  '#orders=x',
  '#%E0%A4%A',
  '#why=a:1e9',
])('the invalid address %s shows the overview', (hash) => {
  expect(placeOf(hash)).toStrictEqual({ view: 'overview', strategy: undefined, panel: undefined })
})
