<?php
// The amount is made a number before its digest is computed: 100.50 becomes 100.5.
$data = json_decode(file_get_contents('php://input'));
$amount = getenv('FIXED') ? $data->OutSum : (float) $data->OutSum;
$expected = strtoupper(md5($amount . ':' . $data->InvId . ':' . getenv('TOKEN')));
if ($expected !== $data->SignatureValue) {
    http_response_code(403);
    die('wrong hash');
}
if ($data->InvId === 'o-1') file_put_contents(getenv('PAID'), $data->Status);
echo 'OK';
