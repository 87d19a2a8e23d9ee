<?php
// Plain PHP, form fields, 400 for a wrong digest.
$outSum = $_POST['OutSum'] ?? '';
$invId = $_POST['InvId'] ?? '';
$expected = strtoupper(md5("$outSum:$invId:" . getenv('TOKEN')));
if (!hash_equals($expected, strtoupper($_POST['SignatureValue'] ?? ''))) {
    http_response_code(400);
    exit('bad sign');
}
if ($invId !== 'o-1' || $outSum !== getenv('AMOUNT')) {
    http_response_code(404);
    exit('no such order');
}
file_put_contents(getenv('PAID'), $_POST['Status']);
echo 'OK';
