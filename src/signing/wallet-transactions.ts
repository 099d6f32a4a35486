import { decodeFunctionData, encodeFunctionData, parseAbi } from 'viem/utils'
import { type Address, baseUnits, type Hex, parseAddress } from '../domain/money/units.ts'
import type { WalletTransaction } from '../domain/order/wallet-transaction.ts'
import type { TransactionRecord } from '../journal/records.ts'
import type { OpenCall } from '../journal/state/daemon-state.ts'
import { encodeDeposit, encodeOnCall, encodeSignedCall } from './call-data.ts'

/** Placeholder for a call's signature, which the record of a direct call omits. */

export const NO_SIGNATURE: Hex = `0x${'00'.repeat(65)}`

const ABI = parseAbi([
  'function approve(address spender, uint256 amount)',
  'function deposit()',
  'function withdraw(uint256 amount)',
])

/** Receiver, data and value (wei). */
type Payload = { readonly to: Address; readonly data: Hex; readonly value: bigint }

/** A transaction's bytes. `signature` is a trustless call's, which its record omits. */
export function payloadOf(transaction: WalletTransaction, signature: Hex = NO_SIGNATURE): Payload {
  switch (transaction.type) {
    case 'approve': {
      const args = [transaction.spender, transaction.amount] as const
      const data = encodeFunctionData({ abi: ABI, functionName: 'approve', args })
      return { to: transaction.token, data, value: 0n }
    }
    case 'wrap': {
      const data = encodeFunctionData({ abi: ABI, functionName: 'deposit' })
      return { to: transaction.token, data, value: transaction.amount }
    }
    case 'unwrap': {
      const data = encodeFunctionData({
        abi: ABI,
        functionName: 'withdraw',
        args: [transaction.amount],
      })
      return { to: transaction.token, data, value: 0n }
    }
    case 'deposit': {
      const data = encodeDeposit(transaction.methods, transaction.account)
      return { to: transaction.gasTank, data, value: transaction.amount }
    }
    case 'cancel':
      return { to: transaction.account, data: '0x', value: 0n }
    case 'call': {
      const { call } = transaction
      return call.trust === 'trusted'
        ? { to: call.target, data: call.calldata, value: call.value }
        : { to: call.account, data: encodeSignedCall(call, signature), value: 0n }
    }
  }
}

/** Calldata for an account to execute a call; both routes use the same bytes. */
export function onCallData(call: NonNullable<OpenCall['call']>, signature: Hex): Hex {
  return call.trust === 'trusted'
    ? encodeOnCall(call.target, call.calldata, call.value)
    : encodeSignedCall(call, signature)
}

/**
 * Parses a recorded transaction; undefined if its bytes do not match its purpose. `call` is the recorded call of a direct
 * transaction. Older records contain that call's signature, which is ignored and made again.
 */
export function walletTransactionOf(
  record: TransactionRecord,
  call: OpenCall['call'],
): WalletTransaction | undefined {
  const transaction = read(record, call)
  if (transaction === undefined) return undefined
  const { to, data, value } = payloadOf(transaction)
  const isAlike = to === record.to && value === record.value
  return isAlike && (transaction.type === 'call' || data === record.data) ? transaction : undefined
}

function read(
  { purpose, to, data, value, from, isCancelling }: TransactionRecord,
  call: OpenCall['call'],
): WalletTransaction | undefined {
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
