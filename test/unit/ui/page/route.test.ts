import { expect, test } from 'vitest'
import {
  placeOf,
  strategyHash,
  viewHash,
  whyHash,
} from '../../../../src/ui/page/client/shell/route.ts'

test("a slot has its own address, also in history's form with a leg", () => {
  const panel = { tag: 'why', strategy: 'weekly-eth', slotSeconds: 1_893_488_400 }
  expect(placeOf('#why=weekly-eth:1893488400')).toEqual({ tag: 'panel', panel })
  expect(placeOf('#why=weekly-eth:1893488400:0')).toEqual({ tag: 'panel', panel })
  expect(placeOf(whyHash('weekly-eth', 1_893_488_400))).toEqual({ tag: 'panel', panel })
})

test('addresses lead back to their view', () => {
  expect(placeOf(viewHash('orders'))).toEqual({ tag: 'view', view: 'orders', strategy: undefined })
  expect(placeOf(viewHash('fills', 'a-b'))).toEqual({ tag: 'view', view: 'fills', strategy: 'a-b' })
  expect(placeOf(strategyHash('a:b %<i>'))).toEqual({
    tag: 'panel',
    panel: { tag: 'strategy', strategy: 'a:b %<i>' },
  })
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
  expect(placeOf(hash)).toEqual({ tag: 'view', view: 'overview', strategy: undefined })
})
