// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice Code for an account whose owner trusts the service. It executes every call of the multicall, and has no replay
/// guard.
contract TrustedProposer {
    address public immutable multicall;

    error OnlyMulticallOrSelf(address caller);

    constructor(address multicall_) {
        multicall = multicall_;
    }

    /// @dev An account with code must accept plain transfers, as it did without code.
    receive() external payable {}

    function onCall(address _target, bytes calldata _data, uint256 _value) external returns (bool) {
        if (msg.sender != multicall && msg.sender != address(this)) revert OnlyMulticallOrSelf(msg.sender);
        (bool success, bytes memory answer) = _target.call{value: _value}(_data);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        return true;
    }
}
