import { decodeFunctionData, encodeFunctionData, parseAbi } from 'viem/utils'
import type { TransactionRecord } from '../../domain/book/journal.ts'
import type { OpenCall } from '../../domain/book/state.ts'
import type { Deed } from '../../domain/deed.ts'
import { type Address, baseUnits, type Hex, parseAddress } from '../../domain/units.ts'
import { encodeDeposit, encodeOnCall, encodeSignedCall } from '../call/data.ts'

/** Transactions of our own, and what they do, in both directions. */

/** Where the signature of a call would stand: what is kept of a direct call holds none. */
export const NO_SIGNATURE: Hex = `0x${'00'.repeat(65)}`

const ABI = parseAbi([
  'function approve(address spender, uint256 amount)',
  'function deposit()',
  'function withdraw(uint256 amount)',
])

/** Receiver, data and value (wei) of a transaction. */
export type Payload = { readonly to: Address; readonly data: Hex; readonly value: bigint }

/** What a deed comes to on the wire. `signature` is that of a trustless call, which its record does not hold. */
export function payloadOf(deed: Deed, signature: Hex = NO_SIGNATURE): Payload {
  switch (deed.type) {
    case 'approve': {
      const args = [deed.spender, deed.amount] as const
      const data = encodeFunctionData({ abi: ABI, functionName: 'approve', args })
      return { to: deed.token, data, value: 0n }
    }
    case 'wrap': {
      const data = encodeFunctionData({ abi: ABI, functionName: 'deposit' })
      return { to: deed.token, data, value: deed.amount }
    }
    case 'unwrap': {
      const data = encodeFunctionData({ abi: ABI, functionName: 'withdraw', args: [deed.amount] })
      return { to: deed.token, data, value: 0n }
    }
    case 'deposit': {
      const data = encodeDeposit(deed.methods, deed.account)
      return { to: deed.gasTank, data, value: deed.amount }
    }
    case 'cancel':
      return { to: deed.account, data: '0x', value: 0n }
    case 'call': {
      const { call } = deed
      return call.trust === 'trusted'
        ? { to: call.target, data: call.calldata, value: call.value }
        : { to: call.account, data: encodeSignedCall(call, signature), value: 0n }
    }
  }
}

/** Calldata that makes an account execute a call: the same bytes on both routes. */
export function onCallData(call: NonNullable<OpenCall['call']>, signature: Hex): Hex {
  return call.trust === 'trusted'
    ? encodeOnCall(call.target, call.calldata, call.value)
    : encodeSignedCall(call, signature)
}

/**
 * What a recorded transaction does; undefined where its bytes are not those of its purpose. `call` is the call on record that
 * a direct one carries. Records of older versions hold that call's signature: it is made again, and theirs is not looked at.
 */
export function deedOf(record: TransactionRecord, call: OpenCall['call']): Deed | undefined {
  const deed = read(record, call)
  if (deed === undefined) return undefined
  const { to, data, value } = payloadOf(deed)
  const isAlike = to === record.to && value === record.value
  return isAlike && (deed.type === 'call' || data === record.data) ? deed : undefined
}

function read(
  { purpose, to, data, value, from, isCancelling }: TransactionRecord,
  call: OpenCall['call'],
): Deed | undefined {
  if (isCancelling === true) return { type: 'cancel', account: from }
  switch (purpose) {
    case 'approve': {
      const read = argumentsOf(data, 'approve')
      const spender = typeof read?.[0] === 'string' ? parseAddress(read[0]) : undefined
      const amount = read?.[1]
      if (spender === undefined || typeof amount !== 'bigint') return undefined
      return { type: 'approve', token: to, spender, amount }
    }
    case 'wrap':
      return { type: 'wrap', token: to, amount: value }
    case 'unwrap': {
      const amount = argumentsOf(data, 'withdraw')?.[0]
      return typeof amount === 'bigint' ? { type: 'unwrap', token: to, amount } : undefined
    }
    case 'deposit': {
      const methods = data === encodeDeposit('balanceOf', from) ? 'balanceOf' : 'balances'
      return { type: 'deposit', gasTank: to, methods, account: from, amount: baseUnits(value) }
    }
    case 'call':
      return call === undefined ? undefined : { type: 'call', call }
  }
}

function argumentsOf(data: Hex, name: 'approve' | 'withdraw'): readonly unknown[] | undefined {
  try {
    const decoded = decodeFunctionData({ abi: ABI, data })
    return decoded.functionName === name ? decoded.args : undefined
  } catch {
    return undefined
  }
}
